import Foundation
import NotibotProtocol
import Testing

/// Reads `firmware-fixtures/vectors`, whose expected bytes come from Python and not from the code
/// under test.
enum Vectors {
  static func load<Vector: Decodable>(_ area: String, as type: Vector.Type = Vector.self) -> [Vector] {
    let path = "../../../firmware-fixtures/vectors/\(area).jsonl"
    do {
      let file = try Data(contentsOf: URL(filePath: #filePath).appending(path: path).standardized)
      return try file.split(separator: 0x0A).map { try JSONDecoder().decode(Vector.self, from: $0) }
    } catch {
      fatalError("\(area): \(error)")
    }
  }
}

/// The sizes of the pieces in which a stream is fed; 0 = whole.
let chunkSizes = [1, 2, 3, 64, 0]

extension [UInt8] {
  /// The bytes of hexadecimal digits.
  init(hex: String) {
    let digits = Array(hex.utf8)
    self = stride(from: 0, to: digits.count, by: 2).map { index in
      guard let byte = UInt8(String(decoding: digits[index...(index + 1)], as: UTF8.self), radix: 16) else {
        fatalError("not hexadecimal: \(hex)")
      }
      return byte
    }
  }

  /// These bytes in pieces of `size`; 0 = in one.
  func chunks(of size: Int) -> [[UInt8]] {
    guard size > 0 else { return [self] }
    return stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
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

  var frame: Frame {
    guard let type = FrameType.allCases.first(where: { $0.name == type }) else {
      fatalError("no type \(type)")
    }
    let header = FrameHeader(
      type: type, direction: fromDevice ? .fromDevice : .fromHost, channel: Channel(rawValue: channel),
      session: session, sequence: sequence, ack: ack, credit: credit)
    return Frame(header, payload: [UInt8](hex: payload))
  }
}
