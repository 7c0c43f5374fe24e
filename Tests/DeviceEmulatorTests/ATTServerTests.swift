import NotibotProtocol
import Testing

@testable import DeviceEmulator

struct ATTServerTests {
  /// A request, the MTU, and the response. Derived by hand from Bluetooth Core specification Vol 3
  /// Part F 3.4.
  private static let answers: [(name: String, mtu: UInt16?, request: String, response: String?)] = [
    ("MTU", nil, "02 b900", "03 0502"),
    ("all services", nil, "10 0100 ffff 0028", "11 14 0100 0700 " + serviceUUID),
    ("no further service", nil, "10 0800 ffff 0028", "01 10 0800 0a"),
    ("no service from handle 2 on", nil, "10 0200 ffff 0028", "01 10 0200 0a"),
    (
      "service by its long type", nil, "10 0100 ffff fb349b5f80000080001000000028 0000",
      "11 14 0100 0700 " + serviceUUID
    ),
    ("groups of characteristics", nil, "10 0100 ffff 0328", "01 10 0100 10"),
    ("service by UUID", nil, "06 0100 ffff 0028 " + serviceUUID, "07 0100 0700"),
    ("another service", nil, "06 0100 ffff 0028 0f18", "01 06 0100 0a"),
    ("a CCCD by its value", 517, "06 0100 ffff 0229 0000", "07 0400 0400 0700 0700"),
    ("characteristics at MTU 23", nil, "08 0100 0700 0328", "09 15 0200 12 0300 " + countUUID),
    ("the second one at MTU 23", nil, "08 0300 0700 0328", "09 15 0500 18 0600 " + dataUUID),
    (
      "both", 44, "08 0100 0700 0328",
      "09 15 0200 12 0300 " + countUUID + "0500 18 0600 " + dataUUID
    ),
    ("both do not fit in 43", 43, "08 0100 0700 0328", "09 15 0200 12 0300 " + countUUID),
    ("no further characteristic", nil, "08 0600 0700 0328", "01 08 0600 0a"),
    ("Count by type", nil, "08 0100 ffff " + countUUID, "09 04 0300 0000"),
    ("Data by type", nil, "08 0100 ffff " + dataUUID, "01 08 0600 02"),
    ("CCCDs by type", nil, "08 0100 ffff 0229", "09 04 0400 0000 0700 0000"),
    ("types of 16 bits", nil, "04 0100 ffff", "05 01 0100 0028 0200 0328"),
    ("types of 128 bits", 517, "04 0300 ffff", "05 02 0300 " + countUUID),
    ("types after them", 517, "04 0400 ffff", "05 01 0400 0229 0500 0328"),
    ("the last type", nil, "04 0700 ffff", "05 01 0700 0229"),
    ("no further type", nil, "04 0800 ffff", "01 04 0800 0a"),
    ("read the service", nil, "0a 0100", "0b " + serviceUUID),
    ("read a declaration", nil, "0a 0200", "0b 12 0300 " + countUUID),
    ("read Count", nil, "0a 0300", "0b 0000"),
    ("read a CCCD", nil, "0a 0400", "0b 0000"),
    ("read Data", nil, "0a 0600", "01 0a 0600 02"),
    ("read handle 0", nil, "0a 0000", "01 0a 0000 01"),
    ("read handle 8", nil, "0a 0800", "01 0a 0800 01"),
    ("read Count from 1", nil, "0c 0300 0100", "0d 00"),
    ("read Count from its end", nil, "0c 0300 0200", "0d"),
    ("read Count beyond its end", nil, "0c 0300 0300", "01 0c 0300 07"),
    ("read the service from 6", nil, "0c 0100 0600", "0d " + String(serviceUUID.dropFirst(12))),
    ("blob of Data", nil, "0c 0600 0000", "01 0c 0600 02"),
    ("blob of handle 9", nil, "0c 0900 0000", "01 0c 0900 01"),
    ("write the service", nil, "12 0100 00", "01 12 0100 03"),
    ("write a declaration", nil, "12 0500 00", "01 12 0500 03"),
    ("write Count", nil, "12 0300 0000", "01 12 0300 03"),
    ("write handle 0x7777", nil, "12 7777 00", "01 12 7777 01"),
    ("write nothing to Data", nil, "12 0600", "01 12 0600 80"),
    ("subscribe", nil, "12 0400 0100", "13"),
    ("CCCD of 1 byte", nil, "12 0400 01", "01 12 0400 0d"),
    ("CCCD of 3 bytes", nil, "12 0700 010000", "01 12 0700 0d"),
    ("CCCD of 0 bytes", nil, "12 0700", "01 12 0700 0d"),
    ("indications", nil, "12 0400 0200", "01 12 0400 fd"),
    ("both bits", nil, "12 0700 0300", "01 12 0700 fd"),
    ("a high bit", nil, "12 0700 0180", "01 12 0700 fd"),
    ("prepare on Count", nil, "16 0300 0000 00", "01 16 0300 03"),
    ("prepare on handle 9", nil, "16 0900 0000 00", "01 16 0900 01"),
    ("prepare", nil, "16 0600 3412 7b22", "17 0600 3412 7b22"),
    ("execute an empty queue", nil, "18 01", "19"),
    ("cancel an empty queue", nil, "18 00", "19"),
    ("Read Multiple", nil, "0e 0300 0400", "01 0e 0000 06"),
    ("unknown request", nil, "3f 01", "01 3f 0000 06"),
    ("unknown command", nil, "7f 01", nil),
    ("signed write", nil, "d2 0600 00", nil),
    ("Write Command", nil, "52 0600 7b7d", nil),
    ("Write Command without a handle", nil, "52", nil),
    ("a response", nil, "13", nil), ("an Error Response", nil, "01 12 0600 80", nil),
    ("a malformed response", nil, "05", nil), ("a notification", nil, "1b 0300 0100", nil),
    ("an indication", nil, "1d 0300 0100", nil), ("a confirmation", nil, "1e", nil),
  ]

  @Test(arguments: answers)
  func `a request gets the response of the specification`(
    name: String, mtu: UInt16?, request: String, response: String?
  ) {
    var rig = ATTRig(mtu: mtu)
    #expect(rig.ask(request) == response?.filter { $0 != " " }, "\(name)")
  }

  @Test(arguments: ["04", "06", "08", "10"])
  func `an impossible range is an invalid handle, named by its start`(opcode: String) {
    var rig = ATTRig()
    let type = opcode == "04" ? "" : "0028"
    let fromZero = rig.ask("\(opcode) 0000 ffff \(type)")
    let upsideDown = rig.ask("\(opcode) 0500 0400 \(type)")
    #expect(fromZero == "01\(opcode)000001")
    #expect(upsideDown == "01\(opcode)050001")
  }

  @Test(arguments: [
    "02", "02 17", "02 1700 00", "04 0100 ff", "04 0100 ffff 00", "06 0100 ffff 00", "08 0100 ffff",
    "08 0100 ffff 00", "08 0100 ffff 000028", "0a", "0a 03", "0a 0300 00", "0c 0300", "0c 0300 00",
    "0c 0300 0000 00", "10 0100 ffff", "10 0100 ffff 002800", "12", "12 06", "16 0600 00", "18", "18 02",
    "18 0100",
  ])
  func `a request with a wrong length or format is an invalid PDU`(request: String) {
    var rig = ATTRig()
    #expect(rig.ask(request) == "01\(request.prefix(2))000004")
  }

  @Test func `a PDU longer than MTU is an invalid PDU`() {
    var rig = ATTRig(mtu: nil)
    #expect(rig.ask([0x12, 0x06, 0x00] + [UInt8](repeating: 0x20, count: 21)) == "0112000004")
    #expect(rig.ask([0x12, 0x06, 0x00] + [UInt8](repeating: 0x20, count: 20)) == "0112060080")
  }

  // MARK: MTU

  @Test(arguments: [(UInt16(5), 23), (23, 23), (100, 100), (517, 517), (600, 517)])
  func `both sides use the smaller MTU, at least 23`(client: UInt16, expected: Int) {
    let rig = ATTRig(mtu: client)
    #expect(Int(rig.server.bearer(.serial)?.mtu ?? 0) == expected)
  }

  @Test func `a second exchange gets the same answer and changes nothing`() {
    var rig = ATTRig(mtu: 100)
    #expect(rig.ask("02 0502") == "030502")
    #expect(rig.server.bearer(.serial)?.mtu == 100)
  }

  @Test func `a server with MTU 23 keeps it`() {
    var rig = ATTRig(mtu: 517, serverMTU: 23)
    #expect(rig.ask("02 0502") == "031700")
    #expect(rig.server.bearer(.serial)?.mtu == 23)
  }

  // MARK: Writes of Data

  @Test func `512 bytes are stored, 513 are an invalid length`() {
    var rig = ATTRig(mtu: 517)
    #expect(rig.write(json(ofBytes: 512)) == "13")
    #expect(rig.write(json(ofBytes: 513)) == "011206000d")
    #expect(rig.ask("0a 0300") == "0b0100")
  }

  @Test func `a full store returns Insufficient Resources`() {
    var rig = ATTRig(capacity: 2)
    #expect(rig.write(sampleJSON.utf8) == "13")
    #expect(rig.write(sampleJSON.utf8) == "13")
    #expect(rig.write(sampleJSON.utf8) == "0112060011")
    #expect(rig.ask("0a 0300") == "0b0200")
  }

  @Test func `a firmware that cannot refuse answers success and does not store`() {
    var rig = ATTRig(mode: .firmware, capacity: 1)
    #expect(rig.write("{}".utf8) == "13")
    #expect(rig.write(sampleJSON.utf8) == "13")
    #expect(rig.write(sampleJSON.utf8) == "13")
    #expect(rig.ask("0a 0300") == "0b0100")
    // Its library does refuse a value that is too long.
    #expect(rig.write(json(ofBytes: 513)) == "011206000d")
  }

  // MARK: Long writes

  @Test func `parts become one notification`() {
    var rig = ATTRig(mtu: nil)
    let json = Array(sampleJSON.utf8)
    for offset in stride(from: 0, to: json.count, by: 18) {
      let part = [0x06, 0x00] + UInt16(offset).littleEndianBytes + json[offset...].prefix(18)
      #expect(rig.ask([0x16] + part) == hex([0x17] + part).lowercased())
    }
    #expect(rig.ask("0a 0300") == "0b0000")
    #expect(rig.ask("18 01") == "19")
    #expect(rig.server.store.items.map(\.json) == [json])
  }

  @Test func `512 bytes can be written at MTU 23`() {
    var rig = ATTRig(mtu: nil)
    let json = json(ofBytes: 512)
    for offset in stride(from: 0, to: 512, by: 18) {
      let part = [0x06, 0x00] + UInt16(offset).littleEndianBytes + json[offset...].prefix(18)
      #expect(rig.ask([0x16] + part)?.prefix(2) == "17")
    }
    #expect(rig.ask("18 01") == "19")
  }

  @Test func `cancel discards the parts`() {
    var rig = ATTRig()
    _ = rig.ask([0x16, 0x06, 0x00, 0x00, 0x00] + Array(sampleJSON.utf8))
    #expect(rig.ask("18 00") == "19")
    #expect(rig.ask("18 01") == "19")
    #expect(rig.ask("0a 0300") == "0b0000")
  }

  @Test(arguments: [["0100"], ["0000", "3200"], ["0000", "0000"], ["0000", "0100", "0100"]])
  func `a part that does not begin at the end of the previous one is an invalid offset`(offsets: [String]) {
    var rig = ATTRig()
    for offset in offsets { _ = rig.ask("16 0600 \(offset) 7b") }
    #expect(rig.ask("18 01") == "0118060007")
    #expect(rig.ask("18 01") == "19")
  }

  @Test func `more than 512 bytes are refused at Execute`() {
    var rig = ATTRig()
    let json = json(ofBytes: 512) + [0x20]
    _ = rig.ask([0x16, 0x06, 0x00, 0x00, 0x00] + json[..<300])
    _ = rig.ask([0x16, 0x06, 0x00] + UInt16(300).littleEndianBytes + json[300...])
    #expect(rig.ask("18 01") == "011806000d")
    #expect(rig.ask("0a 0300") == "0b0000")
  }

  @Test func `bad JSON is refused at Execute, and the queue is empty`() {
    var rig = ATTRig()
    _ = rig.ask("16 0600 0000 7b")
    #expect(rig.ask("18 01") == "0118060080")
    #expect(rig.ask("18 01") == "19")
  }

  @Test func `an Execute with a wrong format also empties the queue`() {
    var rig = ATTRig()
    _ = rig.ask([0x16, 0x06, 0x00, 0x00, 0x00] + Array(sampleJSON.utf8))
    #expect(rig.ask("18 02") == "0118000004")
    #expect(rig.ask("18 01") == "19")
    #expect(rig.ask("0a 0300") == "0b0000")
  }

  @Test func `parts for two handles make two writes`() {
    var rig = ATTRig()
    _ = rig.ask("16 0400 0000 01")
    _ = rig.ask([0x16, 0x06, 0x00, 0x00, 0x00] + Array(sampleJSON.utf8))
    _ = rig.ask("16 0400 0100 00")
    #expect(rig.ask("18 01") == "19")
    #expect(rig.ask("0a 0400") == "0b0100")
    // The subscription begins after Data was written (ATT-14).
    #expect(rig.notifications() == [])
  }

  @Test(arguments: [["04", "07"], ["07", "04"]])
  func `if two CCCDs are invalid, the error names the lower handle, whichever was prepared first`(
    handles: [String]
  ) {
    var rig = ATTRig()
    for handle in handles { _ = rig.ask("16 \(handle)00 0000 0200") }
    #expect(rig.ask("18 01") == "01180400fd")
  }

  @Test func `the queue is full after 1024 bytes`() {
    var rig = ATTRig()
    for offset in [0, 512] {
      let part = [0x06, 0x00] + UInt16(offset).littleEndianBytes + [UInt8](repeating: 0x20, count: 512)
      #expect(rig.ask([0x16] + part)?.prefix(2) == "17")
    }
    #expect(rig.ask("16 0600 0004 20") == "0116060009")
  }

  @Test func `the queue is full after 32 entries`() {
    var rig = ATTRig()
    for _ in 0..<32 { #expect(rig.ask("16 0600 0000") == "1706000000") }
    #expect(rig.ask("16 0600 0000") == "0116060009")
  }
}
