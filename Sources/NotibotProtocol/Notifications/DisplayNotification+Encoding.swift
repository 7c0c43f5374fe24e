extension DisplayNotification {
  /// The replacement for the part that was cut: U+2026. Source: PROTOCOL.md NTF-7.
  private static let ellipsis = "…"

  /// The JSON of this notification, at most 512 bytes; see ``encode(into:)``.
  package func encoded() -> [UInt8] {
    var json: [UInt8] = []
    _ = encode(into: &json)
    return json
  }

  /// Appends the JSON of this notification, at most 512 bytes, and returns whether something was
  /// cut to fit. Source: PROTOCOL.md NTF-6, NTF-7.
  package func encode(into bytes: inout [UInt8]) -> Cut {
    encode(with: [], into: &bytes)
  }

  /// Appends the four keys, then `tail`, the other members with a comma before each: at most 512
  /// bytes.
  func encode(with tail: [UInt8], into bytes: inout [UInt8]) -> Cut {
    let start = bytes.count
    // U+0000 grows when it is encoded, and the limits apply to the encoded text.
    if app.utf8.count <= NotificationLimits.appBytes, title.utf8.count <= NotificationLimits.titleBytes,
      text.utf8.count <= NotificationLimits.jsonBytes, !app.utf8.contains(0), !title.utf8.contains(0)
    {
      appendJSON(tail: tail, to: &bytes)
      if bytes.count - start <= NotificationLimits.jsonBytes { return .nothing }
      bytes.removeLast(bytes.count - start)
    }
    let cut = cutToFit(tailBytes: tail.count)
    cut.appendJSON(tail: tail, to: &bytes)
    return cut == withoutNull ? .nothing : .fields
  }

  /// The members that lose their end in `encode(with:into:)`, of `app`, `title` and `text`.
  func cutMembers(tailBytes: Int) -> [String] {
    let (whole, cut) = (withoutNull, cutToFit(tailBytes: tailBytes))
    let members = [
      ("app", whole.app, cut.app), ("title", whole.title, cut.title), ("text", whole.text, cut.text),
    ]
    return members.filter { $0.1 != $0.2 }.map(\.0)
  }

  /// Whether an encoding left something out.
  package enum Cut: Hashable, Sendable {
    case nothing
    /// `app`, `title`, `text`, `grp` or a label in `act` lost its end, or labels were left out.
    case fields
  }

  /// This notification within the limits: first `app` and `title` are cut to their own, then
  /// `text`, then `title` by the bytes of the JSON, and last `app`. Without a tail `app` is never
  /// cut here, because 64 bytes are at most 384 when escaped; with a tail of 239 bytes, 215 remain
  /// for it.
  private func cutToFit(tailBytes: Int) -> DisplayNotification {
    var cut = withoutNull
    cut.app = DisplayNotification.cut(cut.app, toBytes: NotificationLimits.appBytes) { _ in 1 }
    cut.title = DisplayNotification.cut(cut.title, toBytes: NotificationLimits.titleBytes) { _ in 1 }
    var frame: [UInt8] = []
    DisplayNotification(app: cut.app, title: "", text: "", timestamp: timestamp).appendJSON(
      tail: [], to: &frame)
    let room = NotificationLimits.jsonBytes - tailBytes - frame.count
    let titleBytes = cut.title.utf8.reduce(0) { $0 + Self.escapedLengthBytes($1) }
    cut.text = Self.cut(cut.text, toBytes: room - titleBytes, cost: Self.escapedLengthBytes)
    let textBytes = cut.text.utf8.reduce(0) { $0 + Self.escapedLengthBytes($1) }
    cut.title = Self.cut(cut.title, toBytes: room - textBytes, cost: Self.escapedLengthBytes)
    let leftBytes = room - textBytes - cut.title.utf8.reduce(0) { $0 + Self.escapedLengthBytes($1) }
    if leftBytes < 0 {
      let appBytes = cut.app.utf8.reduce(0) { $0 + DisplayNotification.escapedLengthBytes($1) }
      cut.app = DisplayNotification.cut(
        cut.app, toBytes: appBytes + leftBytes, cost: DisplayNotification.escapedLengthBytes)
    }
    return cut
  }

  /// This notification with U+FFFD for U+0000. Source: PROTOCOL.md NTF-6.
  private var withoutNull: DisplayNotification {
    func replaced(_ string: String) -> String {
      guard string.utf8.contains(0) else { return string }
      var scalars = String.UnicodeScalarView()
      scalars.append(contentsOf: string.unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 })
      return String(scalars)
    }
    return DisplayNotification(
      app: replaced(app), title: replaced(title), text: replaced(text), timestamp: timestamp, details: details
    )
  }

  /// `string` if its total cost is at most `limit`; otherwise its longest prefix of whole
  /// characters that fits together with "…", or "…" alone. Reads no more of a long string than it
  /// keeps.
  package static func cut(_ string: String, toBytes limit: Int, cost: (UInt8) -> Int) -> String {
    var total = 0
    var keptEnd = string.startIndex
    for index in string.indices {
      if total + ellipsis.utf8.count <= limit { keptEnd = index }
      total += string[index].utf8.reduce(0) { $0 + cost($1) }
      if total > limit { return string[..<keptEnd] + ellipsis }
    }
    return string
  }

  private func appendJSON(tail: [UInt8], to bytes: inout [UInt8]) {
    bytes.append(contentsOf: #"{"app":""#.utf8)
    DisplayNotification.appendEscaped(app, to: &bytes)
    bytes.append(contentsOf: #"","title":""#.utf8)
    DisplayNotification.appendEscaped(title, to: &bytes)
    bytes.append(contentsOf: #"","text":""#.utf8)
    DisplayNotification.appendEscaped(text, to: &bytes)
    bytes.append(contentsOf: #"","timestamp":"#.utf8)
    bytes.append(contentsOf: String(timestamp).utf8)
    bytes.append(contentsOf: tail)
    bytes.append(UInt8(ascii: "}"))
  }

  /// Appends a string's bytes, escaping `"`, `\` and controls, with U+FFFD for U+0000. Source:
  /// PROTOCOL.md NTF-6.
  static func appendEscaped(_ string: String, to bytes: inout [UInt8]) {
    let source = string.utf8Span.span.bytes
    var copied = 0
    while true {
      let offset = source.firstSpecialInString(from: copied)
      bytes.append(copying: source.extracting(copied..<offset))
      if offset == source.byteCount { return }
      appendEscape(of: source.byte(at: offset), to: &bytes)
      copied = offset + 1
    }
  }

  private static func appendEscape(of byte: UInt8, to bytes: inout [UInt8]) {
    switch byte {
    case 0: bytes.append(contentsOf: "\u{FFFD}".utf8)
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
    case 0x08: bytes.append(contentsOf: #"\b"#.utf8)
    case 0x09: bytes.append(contentsOf: #"\t"#.utf8)
    case 0x0A: bytes.append(contentsOf: #"\n"#.utf8)
    case 0x0C: bytes.append(contentsOf: #"\f"#.utf8)
    case 0x0D: bytes.append(contentsOf: #"\r"#.utf8)
    default: bytes.append(contentsOf: (#"\u00"# + hex(byte).lowercased()).utf8)
    }
  }

  /// The bytes that one byte of a string takes in the JSON, or more: U+0000 takes 3.
  static func escapedLengthBytes(_ byte: UInt8) -> Int {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x08, 0x09, 0x0A, 0x0C, 0x0D: 2
    case 0..<0x20: 6
    default: 1
    }
  }
}
