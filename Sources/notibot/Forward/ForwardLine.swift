import Foundation
import NotibotHost
import NotibotProtocol

/// A line of `forward`'s input.
enum ForwardLine {
  /// Why a line is invalid.
  struct Problem: Error, CustomStringConvertible {
    var description: String
  }

  /// The keys of a line that are not part of the notification.
  private struct Head: Decodable {
    var number: Int64?
    var ev: String?
  }

  /// Parses a line: a notification, new content for one, or the removal of one. Throws the reason
  /// if it is invalid.
  static func submission(parsing bytes: [UInt8]) throws -> OutboxSubmission {
    guard mayHaveHead(bytes) else { return .add(try notification(bytes)) }
    let head: Head
    do {
      head = try JSONDecoder().decode(Head.self, from: Data(bytes))
    } catch {
      // If it is JSON at all, the parser of notifications has a better message.
      _ = try notification(bytes)
      throw Problem(description: "'number' is not a whole number, or 'ev' is not a string")
    }
    guard let number = head.number else {
      guard head.ev == nil || head.ev == "a" else {
        throw Problem(description: "'ev' needs the 'number' of a notification")
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

  /// Whether it can contain the keys `number` and `ev`. They are rare, and Foundation's parser is
  /// slow.
  private static func mayHaveHead(_ bytes: [UInt8]) -> Bool {
    let text = String(decoding: bytes, as: UTF8.self)
    return text.contains("\"number\"") || text.contains("\"ev\"") || text.contains("\\u")
  }

  /// The four keys and the optional ones of NTF-20; identities are the outbox's own and are
  /// ignored.
  private static func notification(_ bytes: [UInt8]) throws -> DisplayNotification {
    // Text that exceeds the device's limits is allowed here: the host truncates it (PROTOCOL.md
    // NTF-7).
    try DisplayNotification(parsingDetailed: bytes)
  }
}
