import Foundation
import NotibotProtocol

/// Reads `firmware-fixtures/vectors`, whose expected bytes come from Python and not from the code
/// under test.
enum Vectors {
  static func load<Vector: Decodable>(_ area: String, as type: Vector.Type = Vector.self) throws -> [Vector] {
    let path = "../../../firmware-fixtures/vectors/\(area).jsonl"
    let file = try Data(contentsOf: URL(filePath: #filePath).appending(path: path).standardized)
    return try file.split(separator: 0x0A).map { try JSONDecoder().decode(Vector.self, from: $0) }
  }
}

extension [UInt8] {
  /// The bytes of hexadecimal digits; other characters are skipped.
  init(hex: String) {
    let digits = hex.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
    self = stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }
}

/// A frame as the vectors spell it.
struct FrameFields: Decodable {
  var type: String
  var fromDevice: Bool
  var channel: UInt8
  var session: UInt16
  var sequence: UInt8
  var ack: UInt8
  var credit: UInt8
  var payload: String

  /// nil if there is no such type.
  var frame: Frame? {
    guard let type = FrameType.allCases.first(where: { $0.name == type }) else { return nil }
    let header = FrameHeader(
      type: type, direction: fromDevice ? .fromDevice : .fromHost, channel: Channel(rawValue: channel),
      session: session, sequence: sequence, ack: ack, credit: credit)
    return Frame(header, payload: [UInt8](hex: payload))
  }
}
