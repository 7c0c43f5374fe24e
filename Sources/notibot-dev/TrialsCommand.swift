import ArgumentParser
import Commands
import Conformance
import Foundation
import HostSuite
import Rigs
import SerialLink

/// `notibot-dev trials`: the back end of scripts/dev mutants --operators. Not for users, and not
/// listed.
struct TrialsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trials",
    abstract: "Test one device per line of standard input, each until its first failed case.",
    discussion: """
      Writes one line of NDJSON when ready, and one per device. With --subject firmware a line is the path of a \
      shared library; with --subject emulator it is a name that the suite does not interpret.
      """,
    shouldDisplay: false)

  /// The subject of each trial.
  enum Subject: String, ExpressibleByArgument, CaseIterable {
    case firmware
    case emulator
    /// The host, by the cases that play the device.
    case host
  }

  @Option(help: "Subject of the trials.")
  var subject: Subject

  @Option(help: ArgumentHelp("Run only cases whose id, title, chapter or rule matches.", valueName: "regex"))
  var filter: String?

  @Option(
    help: ArgumentHelp(
      "File for the order of the cases; if it exists, the run on a correct device is skipped.",
      valueName: "file"),
    completion: .file())
  var order: String?

  @Option(help: "Seed for nonces, noise and line faults.")
  var seed: UInt64 = 2026

  private struct Ready: Encodable {
    var cases: Int
    /// Those that fail without a fault.
    var wrong: [String]
  }

  private struct Line: Encodable {
    var device: String
    var failed: String?
    var stage: String?
    var detail: String?
    var errored: Bool
    var runs: Int
  }

  func run() async throws {
    var trial = FaultTrial(stages: stages, seed: seed)
    if let order,
      let bytes = try? RegularFile.read(order, limitBytes: 1 << 24), !bytes.isEmpty
    {
      trial.order = try JSONDecoder().decode([[[String]]].self, from: Data(bytes))
      try Output.json(Ready(cases: trial.caseCount, wrong: []))
    } else {
      let suite = subject == .host ? HostSuite.cases : Suite.cases
      let cases = try Selection.cases(matching: filter, in: suite)
      let wrong = try await trial.learn(cases)
      if let order, wrong.isEmpty {
        try WholeFile.write(JSONEncoder().encode(trial.order), to: order)
      }
      try Output.json(Ready(cases: trial.caseCount, wrong: wrong.map(\.testCase.id)))
    }
    while let device = readLine() {
      let verdict = try await trial.judge(device)
      try Output.json(
        Line(
          device: device, failed: verdict.failed, stage: verdict.stage, detail: verdict.detail,
          errored: verdict.isErrored, runs: verdict.runs))
    }
  }

  private var stages: [(name: String, makeRig: (String?) throws -> any Rig)] {
    switch subject {
    case .firmware:
      FirmwareProfile.all.map { profile in
        (profile.name, { FirmwareRig(profile: profile, library: try $0.map { try .load($0) } ?? .linked) })
      }
    case .emulator: [("standard", { _ in EmulatorRig() })]
    case .host: [("host", { _ in HostRig() })]
    }
  }
}
