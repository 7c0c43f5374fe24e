extension WrittenNotification {
  /// The JSON, at most 512 bytes, for a device that supports the optional keys. Source: PROTOCOL.md
  /// NTF-20.
  package func encoded() -> [UInt8] {
    var json: [UInt8] = []
    _ = encode(into: &json)
    return json
  }

  /// Appends the JSON and returns whether something was cut to fit: `grp` and `act` are cut to
  /// their own limits, so that the optional keys have at most 239 bytes in total; then the four
  /// keys are cut. Source: PROTOCOL.md NTF-7, NTF-20.
  package func encode(into bytes: inout [UInt8]) -> DisplayNotification.Cut {
    let (group, labels) = cutDetails
    let cut = notification.encode(with: tail(group: group, labels: labels), into: &bytes)
    return group == notification.details.group && labels == notification.details.actions ? cut : .fields
  }

  /// The members that are cut to fit.
  package var cutMembers: [String] {
    let (group, labels) = cutDetails
    return notification.cutMembers(tailBytes: tail(group: group, labels: labels).count)
      + (group == notification.details.group ? [] : ["grp"])
      + (labels == notification.details.actions ? [] : ["act"])
  }

  private var cutDetails: (group: String, labels: [String]) {
    let labels = notification.details.actions.prefix(NotificationLimits.actions).map {
      Self.label($0)
    }
    return (Self.cut(notification.details.group, toBytes: NotificationLimits.groupBytes), labels)
  }

  /// `text` as a label in `act`: cut to its limit.
  package static func label(_ text: String) -> String {
    cut(text, toBytes: NotificationLimits.actionBytes)
  }

  /// `text` within `limit` bytes of JSON, including escapes. Source: PROTOCOL.md NTF-20.
  private static func cut(_ text: String, toBytes limit: Int) -> String {
    DisplayNotification.cut(text, toBytes: limit, cost: DisplayNotification.escapedLengthBytes)
  }

  /// The optional members, each with a comma before it; those with their default value are omitted.
  private func tail(group: String, labels: [String]) -> [UInt8] {
    var tail: [UInt8] = []
    if let identity {
      append("id", UInt64(identity.id), to: &tail)
      if identity.revision != 0 { append("rev", UInt64(identity.revision), to: &tail) }
      if identity.change != .added { append("ev", identity.change.name, to: &tail) }
    }
    let details = notification.details
    if details.level != .active { append("lvl", UInt64(details.level.rawValue), to: &tail) }
    if details.category != 0 { append("cat", UInt64(details.category), to: &tail) }
    if !group.isEmpty { append("grp", group, to: &tail) }
    if !labels.isEmpty { append(labels, to: &tail) }
    if let expires = details.expires { append("exp", UInt64(expires), to: &tail) }
    if details.flags != 0 { append("fl", UInt64(details.flags), to: &tail) }
    if let source = identity?.source { append("src", UInt64(source), to: &tail) }
    return tail
  }

  private func append(_ labels: [String], to tail: inout [UInt8]) {
    tail.append(contentsOf: #","act":["#.utf8)
    for (index, label) in labels.enumerated() {
      if index > 0 { tail.append(UInt8(ascii: ",")) }
      tail.append(UInt8(ascii: "\""))
      DisplayNotification.appendEscaped(label, to: &tail)
      tail.append(UInt8(ascii: "\""))
    }
    tail.append(UInt8(ascii: "]"))
  }

  private func append(_ key: StaticString, _ value: UInt64, to tail: inout [UInt8]) {
    tail.append(contentsOf: #","\#(key)":\#(value)"#.utf8)
  }

  private func append(_ key: StaticString, _ value: String, to tail: inout [UInt8]) {
    tail.append(contentsOf: #","\#(key)":""#.utf8)
    DisplayNotification.appendEscaped(value, to: &tail)
    tail.append(UInt8(ascii: "\""))
  }
}
