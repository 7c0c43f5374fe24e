import ArgumentParser
import Commands

/// `notibot-dev journal`: what an outbox file costs.
struct JournalCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "journal",
    abstract: "Measure an outbox file.",
    discussion: """
      Creates the file; --count notifications pass through the states queued, written, held and gone, in batches of \
      1, 16 and 256 that share a commit. The file is removed at the end. Syncs are counted with the same load in \
      memory, because a disk does not report them.
      """)

  @Argument(help: "The file; it must not exist yet.", completion: .file())
  var file: String

  @Option(help: "Notifications per batch size, at least 1.")
  var count = 2560

  @Option(help: ArgumentHelp("Length of each text, 0-400.", valueName: "bytes"))
  var textBytes = 48

  @Flag(help: "Print one JSON document.")
  var json = false

  func validate() throws {
    guard count >= 1 else { throw ValidationError("--count must be 1 or more") }
    guard (0...400).contains(textBytes) else { throw ValidationError("--text-bytes must be 0 to 400") }
  }

  func run() throws {
    let report = try JournalBench(path: file, count: count, textBytes: textBytes).run()
    if json { try Output.json(report, pretty: true) } else { Output.data(report.text) }
  }
}
