#if Gateway
import GatewayRules

/// What `/metrics` reports.
struct GatewayCounters: Sendable {
  private struct Label: Hashable {
    var topic: String
    var verdict: String
  }

  /// Topics counted one by one, at most; half of them at most while publishers on this computer,
  /// who choose any, have new ones.
  private static let labelsLimit = 1000

  private var pushes: [Label: Int] = [:]
  private var answerNanoseconds: Int64 = 0
  private var answers = 0
  private var callbacks: [CallVerdict: Int] = [:]

  mutating func record(topic: String, verdict: String, isLocal: Bool, answered: Duration) {
    var label = Label(topic: topic, verdict: verdict)
    let limit = isLocal ? Self.labelsLimit / 2 : Self.labelsLimit
    if pushes[label] == nil, pushes.count >= limit { label.topic = "" }
    pushes[label, default: 0] += 1
    answers += 1
    answerNanoseconds +=
      answered.components.seconds * 1_000_000_000 + answered.components.attoseconds / 1_000_000_000
  }

  mutating func recordCallback(_ verdict: CallVerdict) { callbacks[verdict, default: 0] += 1 }

  /// Prometheus' text format.
  func text(
    boardUp: Bool, diskFull: Bool, entries: Int, unfinished: Int, delivered: Int,
    presses: [PressVerdict: Int], decisions: Int, connections: Int, evicted: Int
  ) -> String {
    var lines: [String] = []
    func add(_ name: String, _ type: String, _ values: [(labels: String, value: String)]) {
      lines.append("# TYPE notibot_gateway_\(name) \(type)")
      for (labels, value) in values { lines.append("notibot_gateway_\(name)\(labels) \(value)") }
    }
    let results = pushes.sorted { ($0.key.topic, $0.key.verdict) < ($1.key.topic, $1.key.verdict) }
    add(
      "pushes_total", "counter",
      results.map { ("{topic=\(jsonString($0.key.topic)),result=\"\($0.key.verdict)\"}", "\($0.value)") })
    add("answer_seconds_sum", "counter", [("", "\(Double(answerNanoseconds) / 1e9)")])
    add("answer_seconds_count", "counter", [("", "\(answers)")])
    add("delivered_total", "counter", [("", "\(delivered)")])
    add("connections", "gauge", [("", "\(connections)")])
    add("connections_evicted_total", "counter", [("", "\(evicted)")])
    add("board_up", "gauge", [("", boardUp ? "1" : "0")])
    add("disk_full", "gauge", [("", diskFull ? "1" : "0")])
    add("outbox_entries", "gauge", [("", "\(entries)")])
    add("outbox_unfinished", "gauge", [("", "\(unfinished)")])
    add(
      "presses_total", "counter",
      presses.sorted { $0.key.rawValue < $1.key.rawValue }
        .map { ("{verdict=\"\($0.key.rawValue)\"}", "\($0.value)") })
    add(
      "callbacks_total", "counter",
      callbacks.sorted { "\($0.key)" < "\($1.key)" }.map { ("{result=\"\($0.key)\"}", "\($0.value)") })
    add("decisions_open", "gauge", [("", "\(decisions)")])
    return lines.joined(separator: "\n") + "\n"
  }
}
#endif
