import NotibotProtocol
import Testing

@testable import DeviceEmulator

/// Other handles than 1 to 7, and servers of Bluetooth stacks.
@Suite struct StackServerTests {
  /// From 14, the answers of a stack.
  private static func rig(_ traits: ServerTraits, mtu: UInt16? = 517) -> ATTRig {
    ATTRig(mtu: mtu, model: ServerModel(table: AttributeTable(first: 14), traits: traits))
  }

  @Test(arguments: [2, 9, 10, 14, 250, 65_529] as [UInt16])
  func `a service is found wherever it begins, and nothing is where no attribute is`(first: UInt16) {
    let table = AttributeTable(first: first)
    var rig = ATTRig(model: ServerModel(table: table, traits: .own))
    let at = { (listed: UInt16) in hex(table.handle(listed).littleEndianBytes).lowercased() }
    #expect(rig.ask("06 0100 ffff 0028" + serviceUUID) == "07" + at(1) + at(7))
    #expect(rig.ask("0a" + at(2)) == "0b12" + at(3) + countUUID)
    #expect(rig.ask("0a" + at(5)) == "0b18" + at(6) + dataUUID)
    #expect(rig.ask("0a" + at(6)) == "010a" + at(6) + "02")
    #expect(rig.ask("0a 0000") == "010a000001")
    let hasFront = first > 9
    #expect(rig.ask("0a 0100") == (hasFront ? "0b0018" : "010a010001"))
    #expect(
      rig.ask("10 0100 0900 0028")?.prefix(4)
        == (hasFront ? "1106" : first == 9 || first == 2 ? "1114" : "0110"))
    #expect(table.handleBehind == (hasFront ? nil : first + 7))
    if first > 10, first < 65_529 {
      #expect(rig.ask("0a 0a00") == "010a0a0001")
      #expect(rig.ask("0a" + at(8)) == "010a" + at(8) + "01")
    }
  }

  @Test func `writes, notifications and the profile hash follow the handles`() {
    var rig = ATTRig(model: ServerModel(table: AttributeTable(first: 200), traits: .own))
    #expect(rig.ask("12 cb00 0100") == "13")
    #expect(rig.ask([0x12, 0xCD, 0x00] + sampleJSON.utf8) == "13")
    #expect(rig.notifications() == ["1bca000100"])
    #expect(rig.ask("12 0600 0100") == "0112060003")
    var profile = DeviceProfile.standard
    profile.firstHandle = 200
    #expect(profile.identity.profileHash != NotibotProfile.hash)
    #expect(DeviceProfile.standard.identity.profileHash == NotibotProfile.hash)
  }

  @Test func `GAP and GATT are in front, and answers are cut to the least MTU`() {
    let table = AttributeTable(first: 14, name: "a name of 29 bytes, no longer")
    var rig = ATTRig(mtu: nil, model: ServerModel(table: table, traits: .own))
    #expect(rig.ask("0a 0300")?.count == 2 * 23)
    #expect(rig.ask("0c 0300 1600") == "0d" + hex(Array(" longer".utf8)).lowercased())
    #expect(rig.ask("08 0100 ffff 002a")?.count == 2 * 23)
    // Two services with short UUIDs, then ours.
    #expect(rig.ask("10 0100 ffff 0028") == "1106" + "010005000018" + "060009000118")
    #expect(rig.ask("10 0a00 ffff 0028") == "1114" + "0e001400" + serviceUUID)
    // Five of nine.
    #expect(rig.ask("04 0100 ffff")?.count == 2 * 22)
    #expect(rig.ask("0a 0800") == "010a080002")
    // A phone subscribes to Service Changed by indications.
    #expect(rig.ask("12 0900 0200") == "13")
    #expect(rig.ask("0a 0900") == "0b0200")
    #expect(rig.ask("12 0900 0100") == "01120900fd")
    #expect(rig.ask("08 0100 ffff 0229") == "0904" + "09000200" + "11000000" + "14000000")
  }

  /// Each row of the table of a measured NimBLE host: the request, its answer there, and that of
  /// the device's own server, if there is one.
  @Test(
    arguments: [
      ("12 1100 0200", "0112110006", "01121100fd"),
      ("0e 1000 1100", "0f00000000", "010e000006"), ("1d 1000 0500", "1e", nil),
      ("0a 10", nil, "010a000004"), ("0a 1000 00", "0b0000", "010a000004"), ("02 1700 00", nil, "0102000004"),
      ("0c 0f00 0300", "0d121000" + countUUID, "0d" + countUUID),
      ("0c 0f00 ff00", "0d121000" + countUUID, "010c0f0007"),
      ("10 0e00 ffff 0028", "11140e00ffff" + serviceUUID, "11140e001400" + serviceUUID),
      ("10 0e00 ffff 0128", "01100e000a", "01100e0010"), ("10 0e00 ffff 0328", "01100e0010", "01100e0010"),
      ("08 0e00 ffff fb349b5f80000080001000000328 0000", "01080e000a", nil),
      ("06 0e00 ffff 0328 121000" + countUUID, "070f001100", "070f000f00"),
      ("18 02", "19", "0118000004"),
    ] as [(String, String?, String?)])
  func `NimBLE answers as measured`(request: String, stack: String?, own: String?) {
    var rig = Self.rig(.nimble)
    #expect(rig.ask(request) == stack)
    var other = Self.rig(.own)
    let answer = other.ask(request)
    if request.hasPrefix("08") { #expect(answer?.hasPrefix("09") == true) } else { #expect(answer == own) }
  }

  @Test func `a stack executes a Write Command, and takes another MTU`() {
    for (traits, count, mtu) in [(ServerTraits.nimble, "0b0100", 64), (.own, "0b0000", 25)] {
      var rig = Self.rig(traits, mtu: 25)
      #expect(rig.ask("02 4000") == "030502")
      #expect(rig.server.bearer(.serial).map { Int($0.mtu) } == mtu)
      _ = rig.ask("02 0502")
      #expect(rig.ask([0x52, 0x13, 0x00] + sampleJSON.utf8) == nil)
      #expect(rig.ask("0a 1000") == (traits == .own && sampleJSON.utf8.count > 22 ? "0b0000" : count))
    }
  }

  @Test func `a stack writes each handle on its own, in the order of the queue`() {
    for (traits, cccd) in [(ServerTraits.nimble, "0b0100"), (.own, "0b0000")] {
      var rig = Self.rig(traits)
      _ = rig.ask("16 1100 0000 0100")
      _ = rig.ask("16 1300 0000 7b")
      #expect(rig.ask("18 01") == "0118130080")
      #expect(rig.ask("0a 1100") == cccd)
      #expect(rig.ask("18 01") == "19")
    }
  }

  @Test func `a stack joins the parts of a handle`() {
    var rig = Self.rig(.nimble)
    let json = Array(sampleJSON.utf8)
    _ = rig.ask([0x16, 0x13, 0, 0, 0] + json.prefix(20))
    _ = rig.ask([0x16, 0x13, 0, 20, 0] + json.dropFirst(20))
    #expect(rig.ask("18 01") == "19")
    #expect(rig.ask("0a 1000") == "0b0100")
  }

  @Test func `a subscription counts for the write behind it in the queue of a stack`() {
    for (traits, notified) in [(ServerTraits.nimble, ["1b10000100"]), (.own, [])] {
      var rig = Self.rig(traits)
      _ = rig.ask("16 1100 0000 0100")
      _ = rig.ask([0x16, 0x13, 0, 0, 0] + sampleJSON.utf8)
      #expect(rig.ask("18 01") == "19")
      #expect(rig.notifications() == notified)
    }
  }

  @Test func `Bluedroid takes each value of a CCCD, and notifies for bit 0 only`() {
    var rig = Self.rig(.bluedroid)
    #expect(rig.ask("12 1100 0200") == "13")
    #expect(rig.ask("0a 1100") == "0b0200")
    _ = rig.ask([0x12, 0x13, 0x00] + sampleJSON.utf8)
    #expect(rig.notifications() == [])
    #expect(rig.ask("0a 10") == "010a000004")
  }

  @Test func `values of several handles are cut to the MTU`() {
    var rig = Self.rig(.nimble, mtu: nil)
    #expect(rig.ask("0e 0e00 0e00") == "0f" + serviceUUID + serviceUUID.prefix(12))
    #expect(rig.ask("0e 1000 1100 1000") == "0f000000000000")
    for request in ["0e 1000", "0e 1000 11", "0e 1000 1100 10"] {
      #expect(rig.ask(request) == "010e000004")
    }
  }

  @Test(arguments: DeviceProfile.all.map(\.name))
  func `only profiles of stacks have another server on connections`(name: String) throws {
    let profile = try #require(DeviceProfile.named(name))
    #expect((profile.connectionModel == .own) == !name.hasPrefix("stack-"))
    #expect(profile.lineModel == .own)
  }
}
