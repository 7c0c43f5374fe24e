/// Topics of senders: bundle ids.
package enum Topic {
  package static let limitBytes = 128

  /// Whether it has the bytes of a topic, with or without the suffix of a push type.
  package static func isWellFormed(_ topic: String) -> Bool {
    (1...limitBytes).contains(topic.utf8.count) && topic.utf8.allSatisfy(isNameByte)
  }

  /// The topic without the suffix of a push type.
  package static func withoutSuffix(_ topic: String) -> String {
    for suffix in PushHead.PushType.allCases.map(\.topicSuffix)
    where !suffix.isEmpty && topic.hasSuffix(suffix) && topic.utf8.count > suffix.utf8.count {
      return String(topic.dropLast(suffix.utf8.count))
    }
    return topic
  }

  /// Why a topic in a table can never match one of a push, and what to do; nil: it can.
  package static func problem(_ topic: String) -> (words: String, remedy: String)? {
    guard isWellFormed(topic) else {
      return ("it is not 1 to \(limitBytes) letters, digits, '.', '-' and '_'", "use the app's bundle id")
    }
    let plain = withoutSuffix(topic)
    return plain == topic ? nil : ("the suffix of a push type is not part of it", "use \(plain)")
  }
}

/// Identifiers of teams and keys.
package enum KeyName {
  package static let limitBytes = 64

  /// Why an identifier can never be in a provider's token, and what to do; nil: it can.
  package static func problem(_ name: String) -> (words: String, remedy: String)? {
    (1...limitBytes).contains(name.utf8.count) && name.utf8.allSatisfy(isNameByte)
      ? nil
      : (
        "it is not 1 to \(limitBytes) letters, digits, '.', '-' and '_'",
        "use what the sender's tokens have; Apple's have 10 letters and digits"
      )
  }
}

private func isNameByte(_ byte: UInt8) -> Bool {
  switch byte {
  case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
    true
  case _: false
  }
}
