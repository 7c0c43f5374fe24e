import HostSuite
import DeviceEmulator
import NotibotProtocol
import Synchronization
import Testing

@testable import Conformance
import SuiteWire

/// A line that corrupts bytes: the device is never blamed for it, and it hides no fault of the
/// device.
@Suite struct LineQualityTests {
  private static let victims = ["NTF-1/stored-and-counted", "NTF-4/not-json", "LNK-8/limits-announced"]
  private static let kinds = [
    "flip=2e-3", "loss=2e-3", "insert=2e-3", "dup=2e-3", "run=1e-3", "garbage=1e-3",
  ]

  private func run(_ id: String, _ rig: LateRig) async throws -> CaseResult {
    let testCase = try #require(Suite.cases.first { $0.id == id })
    return await Runner(rig: rig, seed: 3, gauge: ScriptedGauge()).run(testCase)
  }

  @Test(arguments: kinds, ["to-device", "to-host", "both"])
  func `a sound device on a bad line is not failed`(kind: String, direction: String) async throws {
    let faults = try FaultSpec(parsing: "\(kind),dir=\(direction),seed=5")
    for id in Self.victims {
      let result = try await run(id, LateRig(faults: faults))
      switch result.outcome {
      case .passed: break
      case .errored(let reason):
        #expect(reason.contains("the line corrupts bytes: "), "\(id): \(reason)")
        #expect(result.line.lost > 0 && result.line.asked > result.line.lost)
      case .failed, .differs, .skipped: Issue.record("\(id): \(result.outcome)")
      }
    }
  }

  @Test func `a case that the line does not let through is an error with the line as its reason`()
    async throws
  {
    let faults = try FaultSpec(parsing: "flip=4e-3,dir=to-device,seed=5")
    let result = try await run("NTF-1/stored-and-counted", LateRig(faults: faults))
    #expect(result.outcome.word == "errored", "\(result.outcome)")
    #expect(result.runs == CaseVerdict.corruptRunsLimit)
  }

  @Test(arguments: Mutant.devices.filter { !$0.isHost })
  func `a broken device on a clean line fails in real time, too`(mutant: Mutant) async throws {
    let testCase = try #require(Suite.cases.first { $0.id == mutant.caught })
    let rig = LateRig(mutant: mutant)
    guard testCase.needs.isSubset(of: rig.offers) else { return }
    // A case in real time allows some faults of time that one in virtual time does not.
    guard case .failed = await Runner(rig: rig, seed: 3, gauge: nil).run(testCase).outcome else { return }
    let result = await Runner(rig: rig, seed: 3, gauge: ScriptedGauge()).run(testCase)
    #expect(result.outcome.word == "failed", "\(result.outcome)")
  }

  /// A device that handles some frames and not others.
  private static func dropping(
    _ name: String, _ isDropped: @escaping @Sendable (Int, WireFrame) -> Bool
  ) -> Mutant {
    Mutant(
      name: name, caught: "NTF-1/stored-and-counted",
      sent: {
        var count = 0
        return FrameFilter.frames { frame in
          count += 1
          return isDropped(count, frame) ? [] : [frame]
        }
      })
  }

  @Test(
    arguments: [
      dropping("drops every third frame") { count, _ in count % 3 == 0 },
      dropping("answers every second PING, and no write") { count, frame in
        frame.kind == .ping ? count % 4 == 0 : frame.payload.first == 0x12
      },
      dropping("ignores the SYN of a live session, and writes") { count, frame in
        frame.kind == .syn ? count > 1 : frame.payload.first == 0x12
      },
      dropping("is deaf after ten frames") { count, _ in count > 10 },
      dropping("is deaf after two frames, for ten") { count, _ in (3...12).contains(count) },
    ])
  func `a device that half works is no bad line`(mutant: Mutant) async throws {
    let result = try await run(mutant.caught, LateRig(mutant: mutant))
    #expect(result.outcome.word == "failed", "\(result.outcome)")
  }

  @Test func `a device that prints into its frames is no bad line`() async throws {
    let talker = Mutant(
      name: "prints into its DATA and some other frames", caught: "NTF-1/stored-and-counted",
      received: {
        var generator = SeededGenerator(seed: 1)
        return FrameFilter.bytes { frame in
          let bytes = frame.bytes
          let isHit = frame.kind == .data || Int.random(in: 0..<3, using: &generator) == 0
          guard isHit else { return [bytes] }
          return [
            Array(bytes.prefix(9)) + Array("I (31337) app: something happened\r\n".utf8) + bytes.dropFirst(9)
          ]
        }
      })
    let result = try await run(talker.caught, LateRig(mutant: talker))
    #expect(result.outcome.word == "failed", "\(result.outcome)")
  }

  /// A path that changes some values, in one direction or in both.
  private static func path(
    _ name: String, fails: String, isBoth: Bool, _ change: @escaping @Sendable (UInt8) -> [UInt8]
  ) -> Mutant {
    Mutant(
      name: name, caught: fails, sent: { { $0.flatMap(change) } },
      received: { { isBoth ? $0.flatMap(change) : $0 } })
  }

  @Test(
    arguments: [
      (
        path("doubles 255", fails: "FRM-2/full-block-sent", isBoth: true) { $0 == 0xFF ? [$0, $0] : [$0] },
        "telnet"
      ),
      (
        path("removes XON and XOFF", fails: "FRM-2/every-block-length", isBoth: false) {
          $0 == 0x11 || $0 == 0x13 ? [] : [$0]
        }, "XON"
      ),
    ])
  func `values that do not pass are named, and fail no device`(mutant: Mutant, name: String) async throws {
    let result = try await run(mutant.caught, LateRig(mutant: mutant))
    #expect(result.outcome.word == "errored" && result.runs == 1, "\(result.outcome)")
    #expect(result.outcome.details.first?.contains(name) == true, "\(result.outcome)")
  }

  @Test(arguments: Suite.cases.filter { $0.rules.contains("FRM-11") })
  func `a sound device on a line that echoes fails nothing`(testCase: Case) async throws {
    guard testCase.needs.isSubset(of: LateRig().offers) else { return }
    let line = EchoingLine()
    let mutant = Mutant(
      name: "echoes", caught: testCase.id, sent: { line.pass }, received: { line.receive })
    let result = try await run(testCase.id, LateRig(mutant: mutant))
    let expected = testCase.id == "FRM-16/no-echo" ? "skipped" : "passed"
    #expect(result.outcome.word == expected, "\(result.outcome)")
  }

  @Test func `a sound device on a clean line loses nothing`() async throws {
    let bench = LateRig().makeBench(for: Suite.cases[0], seed: 3)
    let line = await LineCheck.quality(of: bench)
    #expect(line == LineQuality(asked: LineCheck.questionsLimit))
  }
}

/// A line that returns what is written before what the device sends.
private final class EchoingLine: Sendable {
  private let echo = Mutex<[UInt8]>([])

  func pass(_ bytes: [UInt8]) -> [UInt8] {
    echo.withLock { $0 += bytes }
    return bytes
  }

  func receive(_ bytes: [UInt8]) -> [UInt8] {
    echo.withLock { echo in
      defer { echo = [] }
      return echo + bytes
    }
  }
}
