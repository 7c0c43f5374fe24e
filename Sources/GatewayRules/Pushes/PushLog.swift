/// What became of the last pushes: everything but their texts and tokens.
package struct PushLog: Hashable, Sendable {
  package struct Entry: Hashable, Sendable {
    package var at: WallTime
    package var source: String
    package var topic: String
    /// First digits of the token's digest.
    package var token: String
    package var apnsID: String
    package var status: Int
    /// A reason of APNs, or what became of the push.
    package var verdict: String
    package var remarks: [PushRemark]

    package init(
      at: WallTime, source: String, topic: String, token: String, apnsID: String, status: Int,
      verdict: String, remarks: [PushRemark] = []
    ) {
      self.at = at
      self.source = source
      self.topic = topic
      self.token = token
      self.apnsID = apnsID
      self.status = status
      self.verdict = verdict
      self.remarks = remarks
    }

    /// One line of JSON.
    package var line: String {
      var members: [String: JSONValue] = [
        "at": .whole(at.seconds), "source": .string(source), "topic": .string(topic),
        "token": .string(token), "apnsID": .string(apnsID), "status": .whole(status),
        "verdict": .string(verdict),
      ]
      if !remarks.isEmpty { members["remarks"] = .array(remarks.map(\.value)) }
      return JSONValue.object(members).line
    }
  }

  /// Pushes kept.
  package static let limit = 1000

  /// Remarks kept of a push. The last one explains a refusal.
  static let remarksLimit = 8

  private var entries: [Entry] = []
  private var next = 0

  package init() {}

  package mutating func append(_ entry: Entry) {
    var entry = entry
    entry.remarks = Array(entry.remarks.suffix(Self.remarksLimit))
    if entries.count < Self.limit {
      entries.append(entry)
    } else {
      entries[next] = entry
      next = (next + 1) % Self.limit
    }
  }

  /// The last ones, oldest first.
  package func last(_ count: Int) -> [Entry] {
    Array((entries[next...] + entries[..<next]).suffix(max(0, count)))
  }
}
