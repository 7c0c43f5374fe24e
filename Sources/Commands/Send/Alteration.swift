import Glibc
import NotibotProtocol

/// How a notification differs on the display from its input.
struct Alteration: Hashable, Sendable {
  /// A field exceeds the limits of the display and is truncated (NTF-7).
  var isCut = false
  /// The fields that are truncated, if known.
  var cutMembers: [String]?
  /// Bytes that are not UTF-8 were replaced by U+FFFD.
  var isReplaced = false

  var isNone: Bool { self == Alteration() }

  /// A short description; empty if nothing is altered.
  var text: String {
    let limits =
      "longer than \(NotificationLimits.jsonBytes) bytes of JSON, \(NotificationLimits.appBytes) of app or "
      + "\(NotificationLimits.titleBytes) of title"
    return [isCut ? limits : nil, isReplaced ? "not UTF-8" : nil].compactMap(\.self).joined(
      separator: ", and ")
  }

  /// The effect and the reason, as text.
  var consequence: String {
    let verbs = [isCut ? "cut" : nil, isReplaced ? "bytes replaced by U+FFFD" : nil].compactMap(\.self)
    return "\(verbs.joined(separator: ", ")): \(text)"
  }
}

extension Alteration {
  /// The alteration of a notification without an identity, as `send` writes it.
  init(of notification: DisplayNotification) {
    self.init(of: WrittenNotification(notification: notification))
  }

  /// The alteration of a notification that `forward` writes, with the longest possible identity.
  init(ofIdentified notification: DisplayNotification) {
    let identity = NotificationIdentity(id: .max, revision: .max, change: .added, source: .max)
    self.init(of: WrittenNotification(notification: notification, identity: identity))
  }

  private init(of written: WrittenNotification) {
    var json: [UInt8] = []
    self.init(isCut: written.encode(into: &json) == .fields)
    cutMembers = isCut ? written.cutMembers : nil
  }

  /// Whether the argument of this program that was decoded as `text` was not UTF-8.
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
