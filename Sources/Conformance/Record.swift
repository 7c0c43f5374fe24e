package import NotibotProtocol

/// The log of a bench: the findings of the case and the last bytes of the line.
package final class Record {
  /// Steps kept; older ones are dropped and counted.
  package static let stepsLimit = 40
  /// The maximum number of findings; a loop over a thousand inputs need not report the same finding
  /// a thousand times.
  package static let findingsLimit = 8

  private(set) package var findings: [Finding] = []
  private var steps: [String] = []
  private var droppedSteps = 0

  package init() {}

  /// Notes a finding; the case continues.
  package func add(_ finding: Finding) {
    if findings.count < Self.findingsLimit { findings.append(finding) }
  }

  /// Notes bytes that passed.
  package func note(_ bytes: [UInt8], isSent: Bool, at time: Instant) {
    add("\(isSent ? ">" : "<") \(Self.describe(bytes))", at: time)
  }

  /// Notes anything else that is worth reading in addition to the bytes.
  package func add(_ step: String, at time: Instant) {
    steps.append("\(Self.format(time)) \(step)")
    if steps.count > Self.stepsLimit {
      steps.removeFirst()
      droppedSteps += 1
    }
  }

  /// The last steps, one per line, with times in seconds since the clock's origin.
  package var transcript: [String] {
    droppedSteps == 0 ? steps : ["(\(droppedSteps) earlier steps not shown)"] + steps
  }

  private static func describe(_ bytes: [UInt8]) -> String {
    let parts = bytes.split(separator: 0)
    guard bytes.first == 0, bytes.last == 0, parts.count == 1,
      let frame = WireFrame(candidate: Array(parts[0]))
    else { return Wire.hex(bytes, limit: 96) }
    return frame.description
  }

  private static func format(_ time: Instant) -> String {
    let microseconds = time.nanoseconds / 1000
    let fraction = String(1_000_000 + microseconds % 1_000_000).dropFirst()
    return "\(microseconds / 1_000_000).\(fraction)"
  }
}
