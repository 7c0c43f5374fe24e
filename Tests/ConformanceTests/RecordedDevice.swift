import Conformance
import Foundation
import NotibotProtocol
import SuiteWire

/// What a device answered to cases that it passed, or in which its Bluetooth stack differed: JSON
/// Lines, the device first, then a line per case. In virtual time.
struct RecordedDevice {
  /// The bearer and the server; `firstHandle` is that of the service.
  struct Head: Codable, Equatable {
    var device: String
    var server: String
    var firstHandle: UInt16
    /// Of the server on connections; nil: sessions.
    var mtu: Int?
  }

  struct Case: Codable, Equatable {
    var id: String
    var seed: UInt64
    var outcome: String
    /// Microseconds, `>` for the case's bytes or `<` for the device's, and the bytes.
    var steps: [String]
  }

  var head: Head
  var cases: [Case]

  init(head: Head, cases: [Case]) { (self.head, self.cases) = (head, cases) }

  init(contentsOf file: URL) throws {
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map { Data($0.utf8) }
    head = try JSONDecoder().decode(Head.self, from: lines[0])
    cases = try lines.dropFirst().map { try JSONDecoder().decode(Case.self, from: $0) }
  }

  func write(to file: URL) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let lines = [try encoder.encode(head)] + (try cases.map { try encoder.encode($0) })
    try (lines.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\n") + "\n")
      .write(to: file, atomically: true, encoding: .utf8)
  }

  /// Runs cases on a rig, and keeps those that need neither a control channel nor much room.
  ///
  /// - Parameter makeRig: wraps the line of each case.
  static func recording(
    _ head: Head, of cases: [Conformance.Case], on makeRig: (@escaping (any Line) -> any Line) -> any Rig
  ) async -> RecordedDevice {
    let tape = Tape()
    let rig = SeedNoting(makeRig { line in TapedLine(line, tape) })
    var device = RecordedDevice(head: head, cases: [])
    for testCase in cases {
      tape.steps = []
      let result = await Runner(rig: rig, seed: SuiteRun.seed).run(testCase)
      guard ["passed", "differs"].contains(result.outcome.word) else { continue }
      device.cases.append(
        Case(id: testCase.id, seed: rig.seed, outcome: result.outcome.word, steps: tape.steps))
    }
    tape.steps = []
    return device
  }

  /// The result of a case on the device as recorded; nil if the case sends other bytes now.
  func replayed(_ recorded: Case, _ testCase: Conformance.Case) async -> CaseResult? {
    let rig = ReplayRig(head: head, recorded: recorded)
    let result = await Runner(rig: rig, seed: SuiteRun.seed).run(testCase)
    return rig.hasDeviated ? nil : result
  }
}

/// The steps of the case that runs.
private final class Tape {
  var steps: [String] = []
}

/// A line that keeps what passes.
private final class TapedLine: Line {
  private let line: any Line
  private let tape: Tape

  init(_ line: any Line, _ tape: Tape) { (self.line, self.tape) = (line, tape) }

  var now: Instant { line.now }

  func write(_ bytes: [UInt8]) async throws {
    note(bytes, ">")
    try await line.write(bytes)
  }

  func read(until deadline: Instant) async throws -> [UInt8] {
    let bytes = try await line.read(until: deadline)
    if !bytes.isEmpty { note(bytes, "<") }
    return bytes
  }

  private func note(_ bytes: [UInt8], _ direction: String) {
    tape.steps.append("\(now.nanoseconds / 1000)\(direction)\(Wire.hex(bytes))")
  }
}

/// A rig that keeps the seed of its latest bench.
private final class SeedNoting: Rig {
  private let rig: any Rig
  private(set) var seed: UInt64 = 0

  init(_ rig: any Rig) { self.rig = rig }

  var name: String { rig.name }
  // What a recording cannot do.
  var offers: Set<Need> { rig.offers.subtracting([.control, .firmwareMode]) }
  var server: AttributeServer { rig.server }

  func makeBench(for testCase: Conformance.Case, seed: UInt64) async throws -> Bench {
    self.seed = seed
    return try await rig.makeBench(for: testCase, seed: seed)
  }

  func finish(_ bench: Bench) async { await rig.finish(bench) }
  func close() async { await rig.close() }
}

/// A device that sends what was recorded, as long as it gets what was recorded.
private struct ReplayedPeer: VirtualPeer {
  private var steps: ArraySlice<(time: Instant, isSent: Bool, bytes: [UInt8])>
  private(set) var hasDeviated = false

  init(_ recorded: RecordedDevice.Case) {
    steps =
      recorded.steps.map { step in
        let isSent = step.contains(">")
        let parts = step.split(separator: isSent ? ">" : "<", omittingEmptySubsequences: false)
        return (
          Instant(nanoseconds: (Int64(parts[0]) ?? 0) * 1000), isSent, Wire.literal(String(parts[1]))
        )
      }[...]
  }

  mutating func receive(_ bytes: [UInt8], now: Instant) {
    guard let step = steps.first, step.isSent, step.bytes == bytes else {
      hasDeviated = true
      steps = []
      return
    }
    steps.removeFirst()
  }

  mutating func handleTimeout(now: Instant) {}

  mutating func nextBytes(now: Instant) -> [UInt8]? {
    guard let step = steps.first, !step.isSent, step.time <= now else { return nil }
    steps.removeFirst()
    return step.bytes
  }

  var nextDeadline: Instant? { steps.first.flatMap { $0.isSent ? nil : $0.time } }
}

private final class ReplayRig: Rig {
  let name = "recorded"
  private let head: RecordedDevice.Head
  private let recorded: RecordedDevice.Case
  private let line: VirtualLine<ReplayedPeer>

  init(head: RecordedDevice.Head, recorded: RecordedDevice.Case) {
    (self.head, self.recorded) = (head, recorded)
    line = VirtualLine(peer: ReplayedPeer(recorded), now: .zero)
  }

  var hasDeviated: Bool { line.peer.hasDeviated }
  var offers: Set<Need> { [.virtualTime, .strict, head.mtu == nil ? .session : .connection] }
  var server: AttributeServer { AttributeServer(rawValue: head.server) ?? .own }

  func makeBench(for testCase: Conformance.Case, seed: UInt64) -> Bench {
    let bench = Bench(line: line, control: nil, clock: .exact, seed: recorded.seed)
    bench.probe.handles = HandleMap(first: head.firstHandle)
    if let mtu = head.mtu { bench.probe.bearer = .connection(ProbeConnection(serverMTU: mtu) {}) }
    return bench
  }

  func finish(_ bench: Bench) {}
  func close() {}
}
