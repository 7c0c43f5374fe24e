/// A payload in a file, such as the `.apns` file of a simulator: JSON with comment lines, and
/// optionally the topic.
package struct PayloadFile: Hashable, Sendable {
  /// Bytes of a file, at most; a push has fewer.
  package static let limitBytes = 65_536

  /// The key `Simulator Target Bundle`, which is not part of the push.
  package var topic: String?
  package var body: [UInt8]

  package init(parsing bytes: [UInt8]) throws(InputProblem) {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).filter { line in
      let text = line.drop { [0x20, 0x09, 0xEF, 0xBB, 0xBF].contains($0) }
      // No string in JSON goes on in another line.
      return !text.starts(with: Array("//".utf8)) && text.first != UInt8(ascii: "#")
    }
    let root: JSONValue
    do {
      root = try JSONValue(
        parsing: Array(lines.joined(separator: Array("\n".utf8))), limitBytes: Self.limitBytes)
    } catch {
      throw InputProblem(error.description)
    }
    guard case .object(var members) = root else { throw InputProblem("it is not a JSON object") }
    topic = members.removeValue(forKey: "Simulator Target Bundle")?.string
    body = Array(JSONValue.object(members).line.utf8)
  }
}
