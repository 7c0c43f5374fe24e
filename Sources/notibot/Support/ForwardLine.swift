import Foundation
import NotibotHost
import NotibotProtocol

/// A line of `forward`'s input.
enum ForwardLine {
  /// Why a line asks for nothing that can be done.
  struct Problem: Error, CustomStringConvertible {
    var description: String
  }

  /// What a line says beyond a notification.
  private struct Head: Decodable {
    var number: Int64?
    var ev: String?
  }

  /// Reads a line: a notification, new content for one, or the removal of one. Throws what is wrong with it.
  static func submission(parsing bytes: [UInt8]) throws -> OutboxSubmission {
    guard mayHaveHead(bytes) else { return .add(try notification(bytes)) }
    let head: Head
    do {
      head = try JSONDecoder().decode(Head.self, from: Data(bytes))
    } catch {
      // If it is JSON at all, the reader of notifications says better what is wrong.
      _ = try notification(bytes)
      throw Problem(description: "'number' is not a whole number, or 'ev' is not a string")
    }
    guard let number = head.number else {
      guard head.ev == nil || head.ev == "a" else {
        throw Problem(description: "'ev' needs a 'number': that of the notification that is meant")
      }
      return .add(try notification(bytes))
    }
    guard number > 0 else { throw Problem(description: "'number' is out of range") }
    switch head.ev {
    case "r": return .remove(OutboxNumber(rawValue: number))
    case nil, "m": return .update(OutboxNumber(rawValue: number), try notification(bytes))
    case _: throw Problem(description: #"'ev' is neither "m" nor "r""#)
    }
  }

  /// Whether the keys `number` and `ev` may be in it. They are rare, and Foundation's reader is slow.
  private static func mayHaveHead(_ bytes: [UInt8]) -> Bool {
    let text = String(decoding: bytes, as: UTF8.self)
    return text.contains("\"number\"") || text.contains("\"ev\"") || text.contains("\\u")
  }

  /// The four keys, and what else NTF-20 gives a meaning; identities are the outbox's own and are passed over.
  private static func notification(_ bytes: [UInt8]) throws -> NotibotProtocol.Notification {
    // Too long for the device is not too long here: the host cuts (PROTOCOL.md NTF-7).
    try NotibotProtocol.Notification(parsingDetailed: bytes)
  }
}
