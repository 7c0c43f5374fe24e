import Foundation
import Testing

/// A few rounds of `scripts/dev kill-loop`, with the `notibot` of this build.
@Suite(.inTurn) struct KillLoopTests {
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().appendingPathComponent("../..").standardized.path

  @Test func `six kills of the forwarder neither lose nor duplicate a notification`() async throws {
    let ending = try await Program(
      ["\(Self.root)/scripts/dev", "kill-loop", "6", "--seed", "5", "--json", "--notibot", Program.notibot],
      program: "/usr/bin/env"
    ).ending()
    #expect(ending.status == .exited(0), "\(ending.errors)")
    let report = try JSON(parsing: ending.output)
    #expect(report["lost"] == 0 && report["doubled"] == 0)
    #expect(report["findings"] == [])
    let kills = try #require(report["killsAtRandom"].number) + (report["killsAtSteps"].number ?? 0)
    #expect(kills + (report["stepsNotReached"].number ?? 0) == 6)
    #expect(try #require(report["notifications"].number) > 0)
  }
}
