import NotibotProtocol
import Testing

struct COBSTests {
  struct Vector: Decodable, CustomTestStringConvertible {
    var name: String
    var encoded: String
    var decoded: String?
    var decodeOnly: Bool?

    var testDescription: String { name }
  }

  static let vectors: [Vector] = Vectors.load("cobs")

  @Test(arguments: vectors)
  func `decodes what cobs encoded, and refuses the rest`(vector: Vector) {
    #expect(COBS.decode([UInt8](hex: vector.encoded)) == vector.decoded.map { [UInt8](hex: $0) })
  }

  @Test(arguments: vectors.filter { $0.decoded != nil && $0.decodeOnly != true })
  func `encodes as cobs does`(vector: Vector) throws {
    let decoded = try #require(vector.decoded)
    #expect(COBS.encode([UInt8](hex: decoded)) == [UInt8](hex: vector.encoded))
  }
}

struct CRC32Tests {
  struct Vector: Decodable, CustomTestStringConvertible {
    var name: String
    var bytes: String
    var crc: UInt32

    var testDescription: String { name }
  }

  @Test(arguments: Vectors.load("crc32", as: Vector.self))
  func `agrees with zlib`(vector: Vector) {
    #expect(CRC32.checksum([UInt8](hex: vector.bytes)) == vector.crc)
  }

  @Test func `has the golden values of the ESP ROM`() {
    #expect(CRC32.checksum(Array("123456789".utf8)) == 0xCBF4_3926)
    #expect(CRC32.checksum(Array("aa:bb:cc:dd:ee:ff".utf8)) == 0xD9CF_27A9)
  }
}
