import Foundation
import Testing

/// `scripts/dev mutants` with special mutants: it can fail.
@Suite(.inTurn) struct MutantsTests {
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().appendingPathComponent("../..").standardized.path

  private static let testCase = "LNK-52/ping-after-silence"

  @Test func `a fault detected by its case is killed, one without an effect survives`() async throws {
    let folder = try TemporaryDirectory()
    try Self.write("killed", rule: "LNK-52", old: "NB_PING_MS 1000u", new: "NB_PING_MS 3000u", in: folder)
    let good = try await Self.run(folder)
    #expect(good.status == .exited(0), "\(good.errors)\(good.output)")
    #expect(try Self.verdicts(folder) == ["killed": "killed"])
    #expect(good.lines.last?.contains(", 0 errored, ") == true)

    try Self.write(
      "same", rule: "LNK-52", old: "NB_PING_MS 1000u", new: "NB_PING_MS (500u + 500u)", in: folder)
    let bad = try await Self.run(folder)
    #expect(bad.status == .exited(1), "\(bad.errors)\(bad.output)")
    #expect(try Self.verdicts(folder) == ["killed": "killed", "same": "survives"])
    #expect(bad.lines.last?.hasPrefix("1 of 2 killed") == true)
  }

  @Test func `a fault detected only by cases of other rules is not a success`() async throws {
    let folder = try TemporaryDirectory()
    for name in ["any", "other"] {
      try Self.write(
        name, rule: "LNK-50", case: name == "any" ? "-" : Self.testCase, old: "NB_PING_MS 1000u",
        new: "NB_PING_MS 3000u", in: folder)
    }
    let ending = try await Self.run(folder)
    #expect(ending.status == .exited(1), "\(ending.errors)\(ending.output)")
    #expect(try Self.verdicts(folder) == ["any": "dies by other rules", "other": "dies by other rules"])
  }

  @Test func `a case that does not exist is named`() async throws {
    let folder = try TemporaryDirectory()
    try Self.write("lost", rule: "LNK-52", case: "LNK-52/none", old: "1000u", new: "3000u", in: folder)
    let ending = try await Self.run(folder)
    #expect(ending.status == .exited(2) && ending.errors == "lost: there is no case LNK-52/none\n")
  }

  @Test func `a case that blames the rig for a fault of the device fails the run`() async throws {
    let folder = try TemporaryDirectory()
    try Self.write("blaming", rule: "LNK-52", old: "NB_PING_MS 1000u", new: "NB_PING_MS 3000u", in: folder)
    let entry =
      #"{"id":"LNK-52/ping-after-silence","rules":["LNK-52"],"needs":[],"details":[],"outcome":"'$outcome'"}"#
    let suite = try await folder.writeProgram(
      """
      #!/bin/sh
      case "$*" in *--firmware*) outcome=errored ;; *) outcome=passed ;; esac
      echo '{"cases":[\(entry)]}'
      """, to: "suite")
    let ending = try await Self.run(folder, notibot: suite)
    #expect(ending.status == .exited(1), "\(ending.errors)\(ending.output)")
    #expect(ending.output.contains("blames the rig: LNK-52/ping-after-silence on blaming"))
    #expect(ending.lines.last?.contains(", 1 errored, ") == true, "\(ending.output)")
  }

  @Test func `an edit that does not apply exactly once is named`() async throws {
    for old in ["NB_PING_MS 7u", "#define"] {
      let folder = try TemporaryDirectory()
      try Self.write("stale", rule: "LNK-52", old: old, new: "", in: folder)
      let ending = try await Self.run(folder)
      #expect(ending.status == .exited(2))
      #expect(ending.errors.contains("stale.mutants:1: stale: found "), "\(ending.errors)")
      #expect(ending.errors.contains("expected once: \(old)"))
    }
  }

  @Test func `a line that is not in the format of mutants is named`() async throws {
    let head = "b LNK-52 LNK-52/ping-after-silence core/src/nb_internal.h: is a test"
    let files = [
      ("-old", 1, "no mutant begins"), ("b LNK-52 core/src/nb_link.c: is a test", 1, "neither"),
      ("\(head)\n+new", 1, "changes nothing"), ("\(head)\n-old\n@\n same", 3, "changes nothing"),
      ("\(head)\n-old\n\n\(head)\n-old", 4, "unique and in order"),
    ]
    for (text, line, reason) in files {
      let folder = try TemporaryDirectory()
      _ = try folder.write(text, to: "bad.mutants")
      let ending = try await Self.run(folder)
      #expect(ending.status == .exited(2))
      #expect(ending.errors.hasPrefix("bad.mutants:\(line): "), "\(ending.errors)")
      #expect(ending.errors.contains(reason), "\(ending.errors)")
    }
  }

  @Test func `a library other than the firmware is refused with a hint`() async throws {
    let folder = try TemporaryDirectory()
    let path = try folder.write("no library", to: "none.so")
    let ending = try await Program(["test", "--rig", "firmware", "--firmware", path]).ending()
    #expect(ending.status == .exited(18))
    #expect(ending.errors.contains("scripts/dev firmware-library"), "\(ending.errors)")
  }

  @Test func `an argued operator mutant that is detected or does not exist is an error`() async throws {
    let folder = try TemporaryDirectory()
    let loop = { (sign: String) in "for (const uint8_t *end = bytes \(sign) length; bytes < end; bytes++) {" }
    let entries = [
      ["nb_crc32.c", "nb_crc32", loop("+"), loop("-"), "is detected"],
      ["nb_crc32.c", "nb_crc32", "no such line", "nor this", "is stale"],
    ]
    let table = try folder.write(
      entries.map { $0.joined(separator: "\t") }.joined(separator: "\n"), to: "argued.tsv")
    let ending = try await Program(
      [
        "\(Self.root)/scripts/dev", "mutants", "--operators", "--notibot", Program.notibot,
        "--only", "nb_crc32.c", "--jobs", "1", "--limit", "0", "--table", table,
      ], program: "/usr/bin/env"
    ).ending()
    #expect(ending.status == .exited(1), "\(ending.errors)\(ending.output)")
    #expect(ending.output.contains("argued to be equivalent, but there is no such mutant: nb_crc32.c"))
    let isRefuted = ending.lines.contains {
      $0.hasPrefix("argued to be equivalent, but") && $0.contains("kills it: nb_crc32.c")
    }
    #expect(isRefuted, "\(ending.output)")
  }

  private static func write(
    _ name: String, rule: String, case: String = testCase, old: String, new: String,
    in folder: TemporaryDirectory
  ) throws {
    let text = """
      \(name) \(rule) \(`case`) core/src/nb_internal.h: is a test
      -\(old)
      +\(new)
      """
    _ = try folder.write(text, to: "\(name).mutants")
  }

  private static func run(
    _ folder: TemporaryDirectory, notibot: String = Program.notibot
  ) async throws -> Program.Ending {
    try await Program(
      [
        "\(root)/scripts/dev", "mutants", "--notibot", notibot, "--mutants",
        folder.path, "--cases", "^LNK-5[02]/", "--json", folder.file("report.json"),
      ], program: "/usr/bin/env"
    ).ending()
  }

  /// The verdict of each mutant, by name.
  private static func verdicts(_ folder: TemporaryDirectory) throws -> [String: String] {
    struct Report: Decodable {
      struct Row: Decodable {
        var name: String
        var verdict: String
      }
      var mutants: [Row]
    }
    let report = try JSONDecoder().decode(
      Report.self, from: Data(try folder.contents(of: "report.json").utf8))
    return Dictionary(uniqueKeysWithValues: report.mutants.map { ($0.name, $0.verdict) })
  }
}
