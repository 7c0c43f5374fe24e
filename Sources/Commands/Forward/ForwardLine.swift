import NotibotHost
import NotibotProtocol
import SerialLink

/// A line of `forward`'s input.
enum ForwardLine {
  /// What a line asks for.
  struct Content {
    var submission: OutboxSubmission
    var key: IdempotencyKey?
  }

  /// Parses a line: a notification, new content for one, or the removal of one; each with a key or
  /// without. Throws the reason if it is invalid.
  static func content(parsing bytes: [UInt8]) throws -> Content {
    guard mayHaveHead(bytes) else { return Content(submission: .add(try notification(bytes))) }
    let head: SubmissionHead
    do throws(NotificationError) {
      head = try SubmissionHead(parsing: bytes)
    } catch {
      switch error.reason {
      // Only of the head: no other value is read.
      case .wrongType, .notAWholeNumber, .numberOutOfRange: throw error
      case _:
        // The parser of notifications has a better message.
        _ = try notification(bytes)
        throw error
      }
    }
    let key = try head.key.map { text in
      guard let key = IdempotencyKey(text) else {
        throw Failure(.usage, "'key' has \(text.utf8.count) bytes; 1 to 128 are allowed")
      }
      return key
    }
    return Content(submission: try submission(head, bytes), key: key)
  }

  private static func submission(_ head: SubmissionHead, _ bytes: [UInt8]) throws -> OutboxSubmission {
    guard let number = head.number else {
      guard head.change == nil || head.change == "a" else {
        throw Failure(.usage, "'ev' needs the 'number' of a notification")
      }
      return .add(try notification(bytes))
    }
    guard number > 0 else { throw Failure(.usage, "'number' is out of range") }
    let outboxNumber = OutboxNumber(rawValue: Int64(number))
    switch head.change {
    case "r": return .remove(outboxNumber)
    case nil, "m": return .update(outboxNumber, try notification(bytes))
    case _: throw Failure(.usage, #"'ev' is neither "m" nor "r""#)
    }
  }

  private static let headMarks = [#""number""#, #""ev""#, #""key""#, #"\u"#].map { Array($0.utf8) }

  /// Whether it can contain the keys of a head: most lines have none, and are read once.
  private static func mayHaveHead(_ bytes: [UInt8]) -> Bool {
    bytes.indices.contains { index in
      guard bytes[index] == UInt8(ascii: "\"") || bytes[index] == UInt8(ascii: "\\") else { return false }
      return headMarks.contains { bytes[index...].starts(with: $0) }
    }
  }

  /// The four keys and the optional ones of NTF-20; identities are the outbox's own and are
  /// ignored.
  private static func notification(_ bytes: [UInt8]) throws -> DisplayNotification {
    // Text that exceeds the device's limits is allowed here: the host truncates it (PROTOCOL.md
    // NTF-7).
    try DisplayNotification(parsingDetailed: bytes)
  }
}
