/// What follows `labgrid:`: the name of a place, or `@` and the tags of places; then possibly
/// `?wait=SECONDS`.
package struct LabgridName: Hashable, Sendable {
  /// Longer than any name or list of tags in use.
  static let lengthLimitBytes = 128
  /// A day.
  static let waitLimitSeconds = 86_400

  /// The text after `@` if there are tags.
  package let text: String
  /// None for the name of a place.
  package let tags: [String: String]
  /// Time limit to wait for a place that is in use.
  package let waitSeconds: Int

  /// The name of a place.
  package init(place: String, waitSeconds: Int = 0) {
    (text, tags, self.waitSeconds) = (place, [:], waitSeconds)
  }

  /// Throws the reason if the text is malformed.
  init(parsing rest: Substring) throws(Failure) {
    let parts = rest.split(separator: "?wait=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = parts[0]
    guard !name.isEmpty, !name.hasPrefix("-"), rest.utf8.count <= Self.lengthLimitBytes,
      !rest.contains(where: \.isWhitespace)
    else { throw Failure(.usage, "labgrid: needs the name of a place, or @TAG=VALUE,...") }
    guard let seconds = parts.count == 1 ? 0 : Int(parts[1]), 0...Self.waitLimitSeconds ~= seconds else {
      throw Failure(.usage, "wait= must be 0 to \(Self.waitLimitSeconds) seconds")
    }
    guard !name.contains("?") else {
      throw Failure(.usage, "labgrid: has no option but ?wait=SECONDS")
    }
    waitSeconds = seconds
    text = String(name.drop { $0 == "@" })
    tags = name.hasPrefix("@") ? try Self.tags(text) : [:]
  }

  /// Source: labgrid 26.0, TAG_KEY and TAG_VAL; a value that is empty would delete a tag.
  private static func tags(_ text: String) throws(Failure) -> [String: String] {
    var tags: [String: String] = [:]
    for word in text.split(separator: ",", omittingEmptySubsequences: false) {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let key = parts[0]
      guard parts.count == 2, !parts[1].isEmpty, key.utf8.count >= 2, key.first?.isLetter == true,
        key.utf8.allSatisfy({ 0x61...0x7A ~= $0 || 0x30...0x39 ~= $0 || $0 == 0x5F }),
        tags[String(key)] == nil
      else {
        throw Failure(
          .usage, "'\(word)' is no tag: use KEY=VALUE, with a key of at least two of a-z, 0-9 and _")
      }
      tags[String(key)] = String(parts[1])
    }
    return tags
  }
}

extension LabgridName: CustomStringConvertible {
  package var description: String {
    (tags.isEmpty ? "" : "@") + text + (waitSeconds == 0 ? "" : "?wait=\(waitSeconds)")
  }
}
