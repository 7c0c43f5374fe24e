import ArgumentParser
import Commands
import Conformance
import DeviceEmulator
import Foundation
import SerialLink

/// `notibot-dev damage`: measures how many frames each kind of fault costs.
struct DamageCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "damage",
    abstract: "Measure how many frames each kind of line fault costs.",
    discussion: """
      Passes frames and log lines through each kind of fault and decodes the result, without retransmission.

      EXIT CODES HERE
        1: a frame was accepted that was not sent, a byte is neither in a frame
           nor in the text, or a single-byte fault cost more than one frame
      """)

  @Option(help: ArgumentHelp("Frames per kind of fault, 1-100000000.", valueName: "number"))
  var frames = 100_000

  @Option(help: ArgumentHelp("Seed for payloads and faults.", valueName: "number"))
  var seed: UInt64 = 1

  @Flag(help: "Print one JSON document.")
  var json = false

  func run() throws {
    guard (1...100_000_000).contains(frames) else {
      throw Failure(
        .usage, "\(frames) frames are out of range", remedy: "choose 1 to 100000000 with --frames")
    }
    var progress = Progress("damage", total: FrameDamage.kinds.count * frames, unit: "frames")
    var done = 0
    let results = FrameDamage.kinds.map { kind in
      var damage = FrameDamage(kind, seed: seed)
      while damage.sent < frames {
        damage.run(frames: min(10_000, frames - damage.sent))
        progress.update(done + damage.sent)
      }
      damage.finish()
      done += frames
      return damage
    }
    try show(results)
    guard results.allSatisfy(\.isWithinLimits) else {
      throw Failure(.testFailed, "a limit was exceeded", remedy: "reproduce it with --seed \(seed)")
    }
  }

  private struct Document: Encodable {
    struct Row: Encodable {
      var kind: String
      var frames: Int
      var faults: UInt64
      var lost: Int
      var lostPerFault: Double
      var wrong: Int
      var unaccountedBytes: Int
    }

    var schema = "notibot.damage"
    var version = 1
    var seed: UInt64
    var rows: [Row]
  }

  private func show(_ results: [FrameDamage]) throws {
    if json {
      let rows = results.map {
        Document.Row(
          kind: $0.kind.rawValue, frames: $0.sent, faults: $0.faults, lost: $0.lost,
          lostPerFault: $0.lostPerFault,
          wrong: $0.wrong, unaccountedBytes: $0.unaccountedBytes)
      }
      return try Output.json(Document(seed: seed, rows: rows))
    }
    Output.data("fault      frames   faults     lost  lost/fault  wrong  bytes gone")
    for result in results {
      let ratio = String(format: "%.3f", result.lostPerFault)
      let columns: [(text: String, width: Int)] = [
        (String(result.sent), 9), (String(result.faults), 9), (String(result.lost), 9), (ratio, 12),
        (String(result.wrong), 7), (String(result.unaccountedBytes), 12),
      ]
      let cells = columns.map { String(repeating: " ", count: max(1, $0.width - $0.text.count)) + $0.text }
      Output.data(result.kind.rawValue.padding(toLength: 8, withPad: " ", startingAt: 0) + cells.joined())
    }
  }
}
