import ArgumentParser
import Conformance
import Foundation

/// `notibot trials`: what scripts/mutants --operators drives. Not for users, and not listed.
struct TrialsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trials",
    abstract: "Judge one device per line of stdin, each until its first case fails.",
    discussion: """
      Writes one line of NDJSON when it is ready, and one per device. With --rig firmware a line is the path of a \
      shared library; with --rig emulator it is a name that says nothing to the suite.
      """,
    shouldDisplay: false)

  /// What is tested in each trial.
  enum Subject: String, ExpressibleByArgument, CaseIterable {
    case firmware
    case emulator
    /// The host, by the cases that play the device.
    case host
  }

  @Option(help: "What is tested: firmware, emulator or host.")
  var subject: Subject

  @Option(help: ArgumentHelp("Only cases whose id, title, chapter or rule matches.", valueName: "regex"))
  var filter: String?

  @Option(
    help: ArgumentHelp(
      "Keep the order of the cases there: a process that finds it does not run them on a sound device again.",
      valueName: "file"))
  var order: String?

  @Option(help: "Decides nonces, noise and damage.")
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
    var runs: Int
  }

  func run() async throws {
    var trial = FaultTrial(stages: stages, seed: seed)
    if let order, let data = FileManager.default.contents(atPath: order), !data.isEmpty {
      trial.order = try JSONDecoder().decode([[[String]]].self, from: data)
      try Output.json(Ready(cases: trial.caseCount, wrong: []))
    } else {
      let suite = subject == .host ? Suite.hostCases : Suite.cases
      let cases = try Selection.cases(matching: filter, in: suite)
      let wrong = try await trial.learn(cases)
      if let order, wrong.isEmpty {
        try JSONEncoder().encode(trial.order).write(to: URL(fileURLWithPath: order), options: .atomic)
      }
      try Output.json(Ready(cases: trial.caseCount, wrong: wrong.map(\.testCase.id)))
    }
    while let device = readLine() {
      let verdict = try await trial.judge(device)
      try Output.json(
        Line(
          device: device, failed: verdict.failed, stage: verdict.stage, detail: verdict.detail,
          runs: verdict.runs))
    }
  }

  private var stages: [(name: String, makeRig: (String?) throws -> any Rig)] {
    switch subject {
    case .firmware:
      FirmwareProfile.all.map { profile in
        (profile.name, { FirmwareRig(profile: profile, library: try $0.map { try .load($0) } ?? .linked) })
      }
    case .emulator, .host: [("standard", { _ in EmulatorRig() })]
    }
  }
}
