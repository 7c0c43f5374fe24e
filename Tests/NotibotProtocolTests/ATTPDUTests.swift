import NotibotProtocol
import Testing

struct ATTPDUTests {
  struct Vector: Decodable, CustomTestStringConvertible {
    var name: String
    var pdu: String?
    var fields: [String: [Field]]?
    var error: String?
    var profile: String?
    var hash: UInt32?

    var testDescription: String { name }
  }

  /// A number, hexadecimal bytes, or a list of these.
  enum Field: Decodable, Sendable {
    case number(UInt16)
    case bytes([UInt8])
    case list([Field])

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let number = try? container.decode(UInt16.self) {
        self = .number(number)
      } else if let text = try? container.decode(String.self) {
        self = .bytes([UInt8](hex: text))
      } else {
        self = .list(try container.decode([Field].self))
      }
    }

    var number: UInt16 {
      if case .number(let number) = self { number } else { fatalError("no number: \(self)") }
    }
    var bytes: [UInt8] {
      if case .bytes(let bytes) = self { bytes } else { fatalError("no bytes: \(self)") }
    }
    var list: [Field] {
      if case .list(let list) = self { list } else { fatalError("no list: \(self)") }
    }
    var uuid: BluetoothUUID {
      guard let uuid = BluetoothUUID(littleEndian: bytes) else { fatalError("no UUID: \(self)") }
      return uuid
    }
  }

  static let vectors: [Vector] = Vectors.load("att")

  @Test(arguments: vectors.filter { $0.fields != nil })
  func `is parsed and encoded byte for byte`(vector: Vector) throws {
    let (name, fields) = try #require(vector.fields?.first)
    let expected = ATTPDU(name: name, fields: fields)
    let bytes = [UInt8](hex: try #require(vector.pdu))
    #expect(try ATTPDU(parsing: bytes) == expected)
    #expect(expected.encoded() == bytes)
  }

  @Test(arguments: vectors.filter { $0.error != nil })
  func `a PDU that does not fit its format is refused`(vector: Vector) throws {
    let bytes = [UInt8](hex: try #require(vector.pdu))
    let error = #expect(throws: WireError.self) { try ATTPDU(parsing: bytes) }
    #expect(error?.caseName == vector.error)
  }

  @Test func `no prefix of any PDU traps`() {
    for vector in ATTPDUTests.vectors {
      let bytes = [UInt8](hex: vector.pdu ?? "")
      for length in 0...bytes.count {
        if let pdu = try? ATTPDU(parsing: Array(bytes[..<length])) {
          #expect(pdu.encoded() == Array(bytes[..<length]), "\(vector.name)")
        }
      }
    }
  }

  @Test(arguments: [21, 22, 23] as [UInt64])
  func `noise is refused or encoded back unchanged`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0...40, using: &generator)).map { index in
        UInt8.random(in: index == 0 ? 0...0x20 : 0...255, using: &generator)
      }
      if let pdu = try? ATTPDU(parsing: bytes) { #expect(pdu.encoded() == bytes, "seed \(seed)") }
    }
  }

  @Test func `the profile hash covers the declarations of the table`() throws {
    let vector = try #require(ATTPDUTests.vectors.first { $0.hash != nil })
    let covered = NotibotProfile.declarations().flatMap { declaration -> [UInt8] in
      let (handle, type) = (declaration.handle, declaration.type)
      return [UInt8(handle & 255), UInt8(handle >> 8), UInt8(type & 255), UInt8(type >> 8)]
        + declaration.value
    }
    #expect(covered == [UInt8](hex: try #require(vector.profile)))
    #expect(NotibotProfile.hash == vector.hash)
    #expect(NotibotProfile.hash == 0x7D92_E27D)
    // Python: zlib.crc32 over the same attributes, all handles 13 higher.
    #expect(NotibotProfile.profileHash(of: NotibotProfile.declarations(from: 14)) == 0xDC18_DA92)
  }

  @Test func `UUIDs are printed in the usual form`() {
    #expect(NotibotProfile.service.description == "4fafc201-1fb5-459e-8fcc-c5c9c331914b")
    #expect(NotibotProfile.count.description == "beb5483e-36e1-4688-b7f5-ea07361b26a8")
    #expect(NotibotProfile.data.description == "1c95d5e3-d8f7-413a-bf3d-7a2e5d7be87e")
    #expect(BluetoothUUID.clientCharacteristicConfiguration.description == "0x2902")
    #expect(BluetoothUUID(littleEndian: [1, 2, 3, 4]) == nil)
  }
}

extension ATTPDU {
  /// The PDU that a vector spells as the case's name and its values in order.
  fileprivate init(name: String, fields: [ATTPDUTests.Field]) {
    func range(_ fields: [ATTPDUTests.Field]) -> HandleRange {
      HandleRange(start: fields[0].number, end: fields[1].number)
    }
    switch name {
    case "errorResponse":
      let error = ATTError(rawValue: UInt8(fields[2].number))
      self = .errorResponse(request: UInt8(fields[0].number), handle: fields[1].number, error: error)
    case "exchangeMTURequest": self = .exchangeMTURequest(mtu: fields[0].number)
    case "exchangeMTUResponse": self = .exchangeMTUResponse(mtu: fields[0].number)
    case "findInformationRequest": self = .findInformationRequest(range(fields))
    case "findInformationResponse":
      self = .findInformationResponse(fields.map { .init(handle: $0.list[0].number, type: $0.list[1].uuid) })
    case "findByTypeValueRequest":
      self = .findByTypeValueRequest(range(fields), type: fields[2].number, value: fields[3].bytes)
    case "findByTypeValueResponse": self = .findByTypeValueResponse(fields.map { range($0.list) })
    case "readByTypeRequest": self = .readByTypeRequest(range(fields), type: fields[2].uuid)
    case "readByTypeResponse":
      self = .readByTypeResponse(fields.map { .init(handle: $0.list[0].number, value: $0.list[1].bytes) })
    case "readRequest": self = .readRequest(handle: fields[0].number)
    case "readResponse": self = .readResponse(fields[0].bytes)
    case "readBlobRequest": self = .readBlobRequest(handle: fields[0].number, offset: fields[1].number)
    case "readBlobResponse": self = .readBlobResponse(fields[0].bytes)
    case "readByGroupTypeRequest": self = .readByGroupTypeRequest(range(fields), type: fields[2].uuid)
    case "readByGroupTypeResponse":
      self = .readByGroupTypeResponse(fields.map { .init(handles: range($0.list), value: $0.list[2].bytes) })
    case "writeRequest": self = .writeRequest(handle: fields[0].number, value: fields[1].bytes)
    case "writeResponse": self = .writeResponse
    case "prepareWriteRequest":
      self = .prepareWriteRequest(handle: fields[0].number, offset: fields[1].number, value: fields[2].bytes)
    case "prepareWriteResponse":
      self = .prepareWriteResponse(handle: fields[0].number, offset: fields[1].number, value: fields[2].bytes)
    case "executeWriteRequest": self = .executeWriteRequest(fields[0].number == 0 ? .cancel : .write)
    case "executeWriteResponse": self = .executeWriteResponse
    case "handleValueNotification":
      self = .handleValueNotification(handle: fields[0].number, value: fields[1].bytes)
    case "handleValueIndication":
      self = .handleValueIndication(handle: fields[0].number, value: fields[1].bytes)
    case "handleValueConfirmation": self = .handleValueConfirmation
    case "writeCommand": self = .writeCommand(handle: fields[0].number, value: fields[1].bytes)
    case "unknown": self = .unknown(opcode: UInt8(fields[0].number), parameters: fields[1].bytes)
    default: fatalError("no PDU \(name)")
    }
  }
}
