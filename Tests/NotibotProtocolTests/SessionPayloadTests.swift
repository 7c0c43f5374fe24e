import NotibotProtocol
import Testing

struct SessionPayloadTests {
  struct Vector: Decodable, CustomTestStringConvertible {
    struct Versions: Decodable {
      var lowest: UInt8
      var highest: UInt8
    }
    struct Fields: Decodable {
      var nonce: String?
      var versions: Versions?
      var version: UInt8?
      var features: UInt32?
      var limits: [UInt32]?
      var source: UInt32?
      var run: UInt32?
      var clock: [Int64]?
      var bootID: UInt32?
      var bootCount: UInt32?
      var resetReason: UInt8?
      var uptimeMs: UInt64?
      var deviceID: String?
      var firmwareName: String?
      var firmwareVersion: String?
      var buildHash: String?
      var profileHash: UInt32?
      var capacity: UInt16?
      var reason: UInt8?
      var refused: UInt8?
    }

    var name: String
    var kind: String
    var payload: String
    var fields: Fields?
    var isCanonical: Bool?
    var error: String?

    var testDescription: String { name }
  }

  static let vectors: [Vector] = Vectors.load("tlvs")

  @Test(arguments: vectors.filter { $0.fields != nil })
  func `has the values of the TLVs`(vector: Vector) throws {
    let expected = try Payload(#require(vector.fields), kind: vector.kind)
    #expect(try Payload(parsing: [UInt8](hex: vector.payload), kind: vector.kind) == expected)
  }

  @Test(arguments: vectors.filter { $0.isCanonical == true })
  func `is encoded in the order of the table`(vector: Vector) throws {
    let payload = try Payload(#require(vector.fields), kind: vector.kind)
    #expect(payload.encoded == [UInt8](hex: vector.payload))
  }

  @Test(arguments: vectors.filter { $0.error != nil })
  func `malformed TLVs are refused with the reason`(vector: Vector) {
    let error = #expect(throws: WireError.self) {
      try Payload(parsing: [UInt8](hex: vector.payload), kind: vector.kind)
    }
    #expect(error?.caseName == vector.error)
  }

  @Test func `an unknown critical TLV is named`() {
    let critical: [UInt8] = [0x81, 4, 0x4E, 0x42, 0x4F, 0x54, 0x83, 2, 1, 1, 0x9F, 0]
    #expect(throws: WireError.missingTLV(.bootID)) { try Hello(parsing: critical) }
    let whole = critical + [0x0A, 4, 1, 2, 3, 4]
    #expect(throws: WireError.unknownCriticalTLV(type: 0x9F)) { try Hello(parsing: whole) }
  }

  @Test func `every cut of a SYN is refused or is a SYN with less`() throws {
    let vector = try #require(
      SessionPayloadTests.vectors.first { $0.kind == "syn" && $0.isCanonical == true })
    let payload = [UInt8](hex: vector.payload)
    let whole = try Syn(parsing: payload)
    for length in 0..<payload.count {
      do throws(WireError) {
        let syn = try Syn(parsing: Array(payload[..<length]))
        #expect(syn.nonce == whole.nonce && syn.versions == whole.versions)
      } catch {
        #expect(["missingTLV", "truncatedTLV"].contains(error.caseName), "\(length) bytes: \(error)")
      }
    }
  }

  @Test func `the nonce of a refused SYN is found if possible`() throws {
    let vector = try #require(SessionPayloadTests.vectors.first { $0.name == "nonce twice" })
    #expect(Syn.readableNonce(in: [UInt8](hex: vector.payload)) == 0x1122_3344_5566_7788)
    #expect(Syn.readableNonce(in: []) == nil)
    #expect(Syn.readableNonce(in: [0x81, 0, 0x82, 7, 1, 2, 3, 4, 5, 6, 7]) == nil)
    #expect(Syn.readableNonce(in: [0x81, 200, 0x82, 8, 1, 2, 3, 4, 5, 6, 7, 8]) == nil)
    let short: [UInt8] = [0x82, 7, 1, 2, 3, 4, 5, 6, 7]
    let whole: [UInt8] = [0x82, 8, 1, 0, 0, 0, 0, 0, 0, 0]
    #expect(Syn.readableNonce(in: short + whole) == 1)
  }

  @Test func `a NAK has no bitmap or one of eight bytes`() throws {
    #expect(try Nak(parsing: []) == Nak())
    #expect(try Nak(parsing: [6, 0, 0, 0, 0, 0, 0, 0x80]) == Nak(held: 0x8000_0000_0000_0006))
    #expect(try Nak(parsing: [6, 0, 0, 0, 0, 0, 0, 0, 99]) == Nak(held: 6))
    #expect(throws: WireError.tooShort(expectedBytes: 8, actualBytes: 7)) {
      try Nak(parsing: [6, 0, 0, 0, 0, 0, 0])
    }
    #expect(Nak(held: 0x0102).encoded() == [2, 1, 0, 0, 0, 0, 0, 0])
    #expect(Nak().encoded() == [])
  }

  @Test func `a PONG has at least one byte`() throws {
    #expect(try Pong(parsing: [200, 1]) == Pong(handled: 200))
    #expect(throws: WireError.tooShort(expectedBytes: 1, actualBytes: 0)) { try Pong(parsing: []) }
    #expect(Pong(handled: 7).encoded() == [7])
  }

  @Test(
    arguments: [
      (VersionRange(lowest: 1, highest: 1), 1), (VersionRange(lowest: 1, highest: 9), 1),
      (VersionRange(lowest: 2, highest: 9), nil), (VersionRange(lowest: 0, highest: 0), nil),
      (VersionRange(lowest: 9, highest: 0), nil),
    ] as [(VersionRange, UInt8?)])
  func `the highest common version is chosen`(offered: VersionRange, chosen: UInt8?) {
    #expect(VersionRange(lowest: 1, highest: 1).highestCommon(with: offered) == chosen)
  }

  @Test func `a long name is cut at a character, and control characters are unchanged`() throws {
    let hello = Hello(
      bootID: 1, firmwareName: String(repeating: "é", count: 20), firmwareVersion: "1\u{1B}[2J")
    let read = try Hello(parsing: hello.encoded())
    #expect(read.firmwareName == String(repeating: "é", count: 16))
    #expect(read.firmwareVersion == "1\u{1B}[2J")
  }

  @Test func `an undefined reset reason is unknown, an undefined RST reason is kept`() {
    #expect(ResetReason(wire: 200) == .unknown)
    #expect(RSTReason(wire: 200).wire == 200)
  }
}

extension WireError {
  /// The case without its associated values.
  var caseName: String {
    switch self {
    case .tooShort: "tooShort"
    case .tooLong: "tooLong"
    case .badField: "badField"
    case .truncatedTLV: "truncatedTLV"
    case .shortTLV: "shortTLV"
    case .repeatedTLV: "repeatedTLV"
    case .missingTLV: "missingTLV"
    case .badMagic: "badMagic"
    case .unknownCriticalTLV: "unknownCriticalTLV"
    }
  }
}

/// Any of the four payloads that are TLVs.
private enum Payload: Equatable {
  case hello(Hello)
  case syn(Syn)
  case synack(SynAck)
  case rst(Rst)

  init(parsing payload: [UInt8], kind: String) throws(WireError) {
    switch kind {
    case "hello": self = .hello(try Hello(parsing: payload))
    case "syn": self = .syn(try Syn(parsing: payload))
    case "synack": self = .synack(try SynAck(parsing: payload))
    default: self = .rst(try Rst(parsing: payload))
    }
  }

  var encoded: [UInt8] {
    switch self {
    case .hello(let hello): hello.encoded()
    case .syn(let syn): syn.encoded()
    case .synack(let synack): synack.encoded()
    case .rst(let rst): rst.encoded()
    }
  }

  init(_ fields: SessionPayloadTests.Vector.Fields, kind: String) throws {
    let versions = fields.versions.map { VersionRange(lowest: $0.lowest, highest: $0.highest) }
    let nonce = fields.nonce.flatMap { UInt64($0.dropFirst(2), radix: 16) }
    let limits = fields.limits.map {
      LinkLimits(frames: UInt8($0[0]), requests: UInt8($0[1]), mtu: UInt16($0[2]), bytes: $0[3])
    }
    let deviceID = fields.deviceID.flatMap { text in
      DeviceID(octets: text.split(separator: ":").compactMap { UInt8($0, radix: 16) })
    }
    let features = Features(rawValue: fields.features ?? 0)
    let resetReason = fields.resetReason.flatMap(ResetReason.init(rawValue:))
    switch kind {
    case "hello":
      self = .hello(
        Hello(
          versions: try #require(versions), bootID: try #require(fields.bootID), bootCount: fields.bootCount,
          resetReason: resetReason, deviceID: deviceID, firmwareName: fields.firmwareName,
          firmwareVersion: fields.firmwareVersion))
    case "syn":
      self = .syn(
        Syn(
          nonce: try #require(nonce), versions: try #require(versions), features: features,
          limits: try #require(limits), source: fields.source, run: fields.run,
          clock: fields.clock.map { HostClock(seconds: $0[0], zoneOffsetMinutes: Int16($0[1])) }))
    case "synack":
      self = .synack(
        SynAck(
          nonce: try #require(nonce), version: try #require(fields.version), features: features,
          limits: try #require(limits), deviceID: deviceID, firmwareName: fields.firmwareName,
          firmwareVersion: fields.firmwareVersion, buildHash: fields.buildHash.map { [UInt8](hex: $0) },
          profileHash: fields.profileHash, capacity: fields.capacity, bootID: try #require(fields.bootID),
          bootCount: fields.bootCount, resetReason: resetReason, uptimeMs: fields.uptimeMs))
    default:
      self = .rst(
        Rst(
          versions: try #require(versions), reason: RSTReason(wire: try #require(fields.reason)),
          bootID: fields.bootID, nonce: nonce, refused: fields.refused))
    }
  }
}
