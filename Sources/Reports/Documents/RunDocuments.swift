/// What the documents of this file decode an `Int` with, instead of the standard library's methods:
/// a count from 0 to 2^53, so that a sum of some cannot overflow.
extension KeyedDecodingContainer {
  fileprivate func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
    let value = try decode(Int64.self, forKey: key)
    guard (0...1 << 53).contains(value) else {
      throw DecodingError.dataCorruptedError(
        forKey: key, in: self, debugDescription: "\(value) is not a count")
    }
    return Int(value)
  }

  fileprivate func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    guard contains(key), try !decodeNil(forKey: key) else { return nil }
    return try decode(type, forKey: key)
  }
}

/// A JSON report of `test` on one device. Members that a report of an earlier program lacks are
/// optional.
package struct SuiteDocument: Decodable, Sendable {
  package struct Entry: Decodable, Sendable {
    package var id: String
    package var title: String
    package var rules: [String]
    package var chapter: String
    package var outcome: String
    package var seconds: Double
    package var details: [String]
    package var findings: [String]?
    package var ruleWords: String?
    package var transcript: [String]
    package var runs: Int
    package var notes: [String]

    package var isBad: Bool { outcome == "failed" || outcome == "errored" }
  }

  package struct Totals: Decodable, Sendable {
    package var cases: Int
    package var run: Int
    package var passed: Int
    package var failed: Int
    package var errored: Int
    package var differs: Int?
    package var skipped: Int
  }

  package struct Recovery: Decodable, Sendable {
    package struct Step: Decodable, Sendable {
      package var step: String
      package var tried: Int
      package var recovered: Int
    }
    package var climbs: Int
    package var steps: [Step]
  }

  package var rig: String
  package var port: String
  package var seed: UInt64
  package var startedAt: String
  package var seconds: Double
  package var rigTrouble: String?
  package var bootID: String?
  package var recovery: Recovery?
  package var device: [String: String]?
  package var connection: JSONValue?
  package var bench: Environment?
  package var totals: Totals
  package var part: String?
  package var diagnosis: Diagnosis?
  package var cases: [Entry]

  package struct Diagnosis: Decodable, Sendable {
    package var startWith: [String]
    package var similarFaults: [String]?
  }

  /// The cases that did not pass, the most specific one first.
  package var bad: [Entry] {
    let bad = cases.filter(\.isBad)
    guard let order = diagnosis?.startWith else { return bad }
    let byID = Dictionary(bad.map { ($0.id, $0) }) { first, _ in first }
    return order.compactMap { byID[$0] } + bad.filter { !order.contains($0.id) }
  }
}

/// What the two bearers of one board answer differently: the member `comparison` of a report of
/// `test`.
package struct BearersDocument: Decodable, Sendable {
  package struct Column: Decodable, Sendable {
    package var outcome: String
    package var finding: String?
    package var answers: [String]
  }

  package struct Difference: Decodable, Sendable {
    package var id: String
    package var title: String
    package var columns: [Column]
  }

  package struct Single: Decodable, Sendable {
    package var id: String
    package var bearer: String
    package var reason: String
  }

  package var bearers: [String]
  package var compared: Int
  package var differences: [Difference]
  package var singles: [Single]
  package var undecided: Int
}

/// The computer and the program of a run.
package struct Environment: Decodable, Equatable, Sendable {
  package var notibot: String
  package var host: String
  package var kernel: String
}

/// A bar of a histogram: how many values are in `from ..< to`.
package struct Bucket: Codable, Equatable, Sendable {
  package var from: Double
  package var to: Double
  package var count: Int

  package init(from: Double, to: Double, count: Int) {
    (self.from, self.to, self.count) = (from, to, count)
  }
}

/// The state of a run at a time; counts are since its start.
package struct RunSample: Codable, Equatable, Sendable {
  package var seconds: Double
  package var delivered: Int
  package var resends: Int
  package var residentBytes: Int

  package init(seconds: Double, delivered: Int, resends: Int, residentBytes: Int) {
    (self.seconds, self.delivered) = (seconds, delivered)
    (self.resends, self.residentBytes) = (resends, residentBytes)
  }
}

/// Something that happened in a run: a session, a restart, a line of the console.
package struct RunEvent: Codable, Equatable, Sendable {
  package var seconds: Double
  package var text: String

  package init(seconds: Double, text: String) { (self.seconds, self.text) = (seconds, text) }
}

/// Percentiles, in the unit of their name.
package struct Percentiles: Decodable, Equatable, Sendable {
  package var p50: Double
  package var p99: Double
  package var max: Double
}

/// A JSON report of `soak`.
package struct SoakDocument: Decodable, Sendable {
  package var bench: Environment?
  package var port: String
  package var seconds: Double
  package var trouble: String?
  package var queued: Int
  package var delivered: Int
  package var refused: Int
  package var gone: Int
  package var undelivered: Int
  package var lost: Int
  package var doubled: Int
  package var differences: Int
  package var check: String
  package var sessions: Int
  package var restarts: Int
  package var reboots: Int
  package var unplugs: Int
  package var resends: Int
  package var crcErrors: Int
  package var latencyMs: Percentiles?
  package var upShare: Double
  package var residentBytesStart: Int
  package var residentBytesEnd: Int
  package var histogram: [Bucket]?
  package var samples: [RunSample]?
  package var events: [RunEvent]?
}

/// A board in a JSON report of `soak --all`.
package struct SoakedBoard: Decodable, Sendable {
  package var port: String
  package var exit: Int
  package var error: String?
  /// `nil`: the soak did not start.
  package var report: SoakDocument?
}

/// A JSON report of `bench`.
package struct BenchDocument: Decodable, Sendable {
  package var bench: Environment?
  package var trouble: String?
  package var path: String
  package var count: Int
  package var window: Int
  package var textBytes: Int
  package var seconds: Double
  package var accepted: Int
  package var refused: Int
  package var notificationsPerSecond: Double
  package var bytesPerSecond: Double
  package var cpuMicrosecondsPerNotification: Double
  package var resends: Int
  package var residentBytesStart: Int
  package var residentBytesEnd: Int
  package var lineShare: Double?
  package var roundTripMicroseconds: Percentiles?
  package var histogram: [Bucket]?
  package var samples: [RunSample]?
  package var runs: [JSONValue]?
}
