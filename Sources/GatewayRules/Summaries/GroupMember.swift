/// The place of an item in its group.
package struct GroupMember: Hashable, Sendable {
  /// The summary: topic, group and category, 32 bytes.
  package var group: [UInt8]
  package var app: String
  /// `grp` of the item.
  package var displayGroup: String
  /// The text of the summary, with the place `{count}`; empty: the group has no summary.
  package var text: String
  /// Whether the items of `displayGroup` are read together.
  package var isReadTogether: Bool

  package init(
    group: [UInt8], app: String, displayGroup: String, text: String, isReadTogether: Bool = false
  ) {
    self.group = group
    self.app = app
    self.displayGroup = displayGroup
    self.text = text
    self.isReadTogether = isReadTogether
  }

  /// Characters of the name of a group, at most.
  static let nameLimit = 64

  static let countPlace = "{count}"
  static let groupPlace = "{group}"
}

extension GroupMember {
  /// The member as one line of JSON, for the gateway's file.
  package var line: String {
    JSONValue.object([
      "app": .string(app), "grp": .string(displayGroup), "text": .string(text), "of": .string(hexText(group)),
      "read": .bool(isReadTogether),
    ]).line
  }

  /// Bytes of such a line, at most.
  package static let limitBytes = 65_536

  /// Reads what `line` wrote; nil for anything else.
  package init?(line: String) {
    guard let root = try? JSONValue(parsing: Array(line.utf8), limitBytes: Self.limitBytes),
      let app = root["app"]?.string, let displayGroup = root["grp"]?.string, let text = root["text"]?.string,
      let group = root["of"]?.string.flatMap(Self.bytes)
    else { return nil }
    self.init(
      group: group, app: app, displayGroup: displayGroup, text: text,
      isReadTogether: root["read"]?.bool ?? false)
  }

  private static func bytes(_ hex: String) -> [UInt8]? {
    let digits = Array(hex.utf8)
    guard digits.count == 64 else { return nil }
    var bytes: [UInt8] = []
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let byte = UInt8(String(decoding: digits[index...index + 1], as: UTF8.self), radix: 16) else {
        return nil
      }
      bytes.append(byte)
    }
    return bytes
  }
}
