import Glibc
import NotibotProtocol

/// What a notification loses on its way to the display.
struct Alteration: Hashable, Sendable {
  /// Something is longer than the display takes, and loses its end (NTF-7).
  var isCut = false
  /// Bytes that are not UTF-8 were replaced by U+FFFD.
  var isReplaced = false

  var isNone: Bool { self == Alteration() }

  /// In a few words; empty for none.
  var text: String {
    let limits =
      "longer than \(NotificationLimits.jsonBytes) bytes of JSON, \(NotificationLimits.appBytes) of app or "
      + "\(NotificationLimits.titleBytes) of title"
    return [isCut ? limits : nil, isReplaced ? "not UTF-8" : nil].compactMap(\.self).joined(
      separator: ", and ")
  }

  /// What becomes of it for a person.
  var consequence: String {
    let verbs = [isCut ? "cut" : nil, isReplaced ? "bytes replaced by U+FFFD" : nil].compactMap(\.self)
    return "\(verbs.joined(separator: ", ")): \(text)"
  }
}

extension Alteration {
  /// Of the four fields alone, as `send` writes them.
  init(of notification: NotibotProtocol.Notification) {
    var json: [UInt8] = []
    self.init(isCut: notification.encode(into: &json) == .fields)
  }

  /// Of all that `forward` writes, with the longest identity there is.
  init(ofIdentified notification: NotibotProtocol.Notification) {
    let identity = NotificationIdentity(id: .max, revision: .max, change: .added, source: .max)
    var json: [UInt8] = []
    let written = WrittenNotification(notification: notification, identity: identity)
    self.init(isCut: written.encode(into: &json) == .fields)
  }

  /// Whether an argument of this program that reads as `text` held bytes that are not UTF-8.
  static func isRepaired(_ text: String) -> Bool {
    guard text.unicodeScalars.contains("\u{FFFD}") else { return false }
    return (1..<max(1, Int(CommandLine.argc))).contains { index in
      guard let argument = CommandLine.unsafeArgv[index] else { return false }
      let bytes = UnsafeRawBufferPointer(start: argument, count: strlen(argument))
      return String(validating: bytes, as: UTF8.self) == nil
        && String(decoding: bytes, as: UTF8.self).hasSuffix(text)
    }
  }
}
