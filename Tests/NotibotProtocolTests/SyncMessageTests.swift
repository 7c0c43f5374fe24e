import NotibotProtocol
import Testing

struct SyncMessageTests {
  /// Bytes spelled out by hand from the table of NTF-30.
  static let messages: [(hex: String, message: SyncMessage)] = [
    (
      "01 01EEFFC0 07000000 0200 8877665544332211",
      .sync(
        SyncRequest(
          source: 0xC0FF_EE01, knownID: 7, holdings: Holdings(count: 2, digest: 0x1122_3344_5566_7788)))
    ),
    (
      "01 01000000 00000000 0000 0000000000000000",
      .sync(SyncRequest(source: 1, knownID: 0, holdings: Holdings()))
    ),
    (
      "01 FFFFFFFF FFFFFFFF FFFF FFFFFFFFFFFFFFFF",
      .sync(
        SyncRequest(source: .max, knownID: .max, holdings: Holdings(count: .max, digest: .max)))
    ),
    (
      "02 01EEFFC0 0300 F0DEBC9A78563412 09000000 4000 421D07B0",
      .synced(
        SyncAnswer(
          source: 0xC0FF_EE01, holdings: Holdings(count: 3, digest: 0x1234_5678_9ABC_DEF0), highestID: 9,
          capacity: 64, bootID: 0xB007_1D42))
    ),
    ("03", .resync),
    ("04 01 01EEFFC0 07000000", .gone(.dismissed, NotificationKey(source: 0xC0FF_EE01, id: 7))),
    ("04 02 01000000 FFFFFFFF", .gone(.evicted, NotificationKey(source: 1, id: .max))),
    ("04 03 FFFFFFFF 01000000", .gone(.expired, NotificationKey(source: .max, id: 1))),
    (
      "05 02 01EEFFC0 07000000 0301 09000000",
      .press(
        KeptPress(act: 2, key: NotificationKey(source: 0xC0FF_EE01, id: 7), revision: 0x0103, number: 9))
    ),
    (
      "05 FF FFFFFFFF FFFFFFFF FFFF FFFFFFFF",
      .press(
        KeptPress(act: 255, key: NotificationKey(source: .max, id: .max), revision: .max, number: .max))
    ),
    ("06 01EEFFC0 09000000", .taken(source: 0xC0FF_EE01, press: 9)),
    ("06 FFFFFFFF 01000000", .taken(source: .max, press: 1)),
  ]

  @Test(arguments: messages.indices)
  func `a message is read`(index: Int) throws {
    let (hex, message) = Self.messages[index]
    #expect(try SyncMessage(parsing: [UInt8](spaced: hex)) == message)
  }

  @Test(arguments: messages.indices)
  func `a message is written byte for byte`(index: Int) {
    let (hex, message) = Self.messages[index]
    #expect(message.encoded() == [UInt8](spaced: hex))
  }

  @Test(arguments: messages.indices)
  func `bytes behind a message are ignored`(index: Int) throws {
    let (hex, message) = Self.messages[index]
    #expect(try SyncMessage(parsing: [UInt8](spaced: hex) + [0xFF]) == message)
    #expect(
      try SyncMessage(parsing: [UInt8](spaced: hex) + [UInt8](repeating: 7, count: 500)) == message)
  }

  @Test(arguments: messages.indices)
  func `every cut of a message is too short`(index: Int) {
    let bytes = [UInt8](spaced: Self.messages[index].hex)
    let lengths: [UInt8: Int] = [1: 19, 2: 25, 3: 1, 4: 10, 5: 16, 6: 9]
    for length in 0..<bytes.count {
      let expected = length == 0 ? 1 : lengths[bytes[0]] ?? 0
      #expect(throws: WireError.tooShort(expectedBytes: expected, actualBytes: length)) {
        try SyncMessage(parsing: Array(bytes[..<length]))
      }
    }
  }

  @Test(arguments: [0, 7, 0x11, 0x7B, 0x81, 0xFF] as [UInt8])
  func `an unknown kind is refused`(kind: UInt8) {
    let error = WireError.badField(name: "kind", value: Int(kind))
    #expect(throws: error) { try SyncMessage(parsing: [kind]) }
    #expect(throws: error) { try SyncMessage(parsing: [kind] + [UInt8](repeating: 1, count: 24)) }
  }

  @Test(
    arguments: [
      ("01 00000000 07000000 0200 8877665544332211", "src", 0), ("04 01 00000000 07000000", "src", 0),
      ("04 01 01000000 00000000", "id", 0), ("04 00 01000000 01000000", "reason", 0),
      ("04 04 01000000 01000000", "reason", 4), ("04 FF 01000000 01000000", "reason", 255),
      ("05 00 00000000 07000000 0000 01000000", "src", 0), ("05 00 07000000 00000000 0000 01000000", "id", 0),
      ("05 00 07000000 07000000 0000 00000000", "press", 0), ("06 00000000 01000000", "src", 0),
      ("06 01000000 00000000", "press", 0),
    ] as [(String, String, Int)])
  func `an invalid value is refused`(hex: String, name: String, value: Int) {
    #expect(throws: WireError.badField(name: name, value: value)) {
      try SyncMessage(parsing: [UInt8](spaced: hex))
    }
  }
}

struct HoldingsTests {
  /// CRC-32 and digests by another program, `tools/vectors/protocol_page.py`.
  static let first: (id: UInt32, crc: UInt32) = (7, 0x1B70_5072)
  static let second: (id: UInt32, crc: UInt32) = (8, 0x8904_358A)

  @Test func `splitmix64 is that of the rule`() {
    #expect(Holdings.splitMix64(0) == 0xE220_A839_7B1D_CDAF)
    #expect(Holdings.splitMix64(1) == 0x910A_2DEC_8902_5CC1)
    #expect(Holdings.splitMix64(.max) == 0xE4D9_7177_1B65_2C20)
  }

  @Test func `nothing is held at first`() {
    #expect(Holdings().count == 0)
    #expect(Holdings().digest == 0)
  }

  @Test func `the digest is the sum of the held notifications`() {
    var holdings = Holdings()
    holdings.insert(id: Self.first.id, crc: Self.first.crc)
    #expect(holdings == Holdings(count: 1, digest: 0xC148_7D31_EC01_DCE9))
    holdings.insert(id: Self.second.id, crc: Self.second.crc)
    #expect(holdings == Holdings(count: 2, digest: 0x2D63_BA3C_A03F_45DF))
  }

  @Test func `order does not matter, and a removed notification leaves no trace`() {
    var holdings = Holdings()
    holdings.insert(id: Self.second.id, crc: Self.second.crc)
    holdings.insert(id: Self.first.id, crc: Self.first.crc)
    #expect(holdings == Holdings(count: 2, digest: 0x2D63_BA3C_A03F_45DF))
    holdings.remove(id: Self.second.id, crc: Self.second.crc)
    #expect(holdings == Holdings(count: 1, digest: 0xC148_7D31_EC01_DCE9))
    holdings.remove(id: Self.first.id, crc: Self.first.crc)
    #expect(holdings == Holdings())
  }

  @Test func `exchanging the contents of two notifications changes the digest`() {
    var swapped = Holdings()
    swapped.insert(id: Self.first.id, crc: Self.second.crc)
    swapped.insert(id: Self.second.id, crc: Self.first.crc)
    #expect(swapped == Holdings(count: 2, digest: 0x580C_5692_CA7B_EBB4))
  }

  @Test func `the count wraps and returns`() {
    var holdings = Holdings(count: .max, digest: 0)
    holdings.insert(id: 7, crc: 0)
    #expect(holdings.count == 0)
    holdings.remove(id: 7, crc: 0)
    #expect(holdings == Holdings(count: .max, digest: 0))
  }

  @Test(arguments: [61, 62] as [UInt64])
  func `inserted notifications can be removed in any order`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var held: [(id: UInt32, crc: UInt32)] = []
    var holdings = Holdings()
    for round in 0..<2000 {
      if held.isEmpty || Bool.random(using: &generator) {
        let item = (id: UInt32.random(in: 1 ... .max, using: &generator), crc: UInt32(round))
        held.append(item)
        holdings.insert(id: item.id, crc: item.crc)
      } else {
        let item = held.remove(at: Int.random(in: held.indices, using: &generator))
        holdings.remove(id: item.id, crc: item.crc)
      }
      #expect(Int(holdings.count) == held.count, "seed \(seed) round \(round)")
    }
    for item in held.shuffled(using: &generator) { holdings.remove(id: item.id, crc: item.crc) }
    #expect(holdings == Holdings(), "seed \(seed)")
  }
}

extension [UInt8] {
  /// The bytes of hexadecimal digits with spaces between them.
  init(spaced hex: String) {
    self.init(hex: hex.filter { $0 != " " })
  }
}
