import ArgumentParser
import Foundation
import NotibotHost
import NotibotProtocol
import SerialLink

/// `notibot forward`: each notification once on the display, whatever happens to cable, device and this process.
struct ForwardCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "forward",
    abstract:
      "Bring each notification to the device exactly once, through lost cables, restarts and crashes.",
    discussion: """
      Takes one JSON document a line from standard input, or from clients of a unix socket: \
      {"app":"Messages","title":"Jane Doe","text":"Hi","timestamp":1234567890}, with lvl, cat, grp, act, exp and fl if \
      wanted. A document with "number" gives that notification new content; {"number":N,"ev":"r"} takes it back. \
      What happens to each is told on standard output, one JSON document a line.

      What is queued is in the outbox's file, and goes out when the device is there, at the next run if need be. At the \
      end of its input the command waits until all is delivered.

      \(ExitStatus.helpTable)
      """)

  @OptionGroup var line: LineOptions

  @Option(
    help: ArgumentHelp("Keep what is not delivered in this file; made if it is not there.", valueName: "path")
  )
  var outbox: String

  @Option(
    help: ArgumentHelp(
      "Take notifications from clients of this unix socket, and none from standard input.",
      discussion: "Runs until interrupted.", valueName: "unix:path"))
  var listen: String?

  @Flag(help: "Put changes of the connection among the results, instead of on standard error.")
  var json = false

  @Option(
    help: ArgumentHelp(
      "How long to wait at the end of the input until all is delivered, 0.1-604800; for ever, without it.",
      valueName: "seconds"))
  var timeout: Double?

  @Flag(help: "End when all is in the outbox, delivered or not.")
  var noWait = false

  @Option(
    help: ArgumentHelp(
      "Notifications that the outbox holds, 1-1000000; when it is full, no more are read.",
      valueName: "number"))
  var entriesLimit = 10_000

  @Flag(help: "Of a device without identities: do not send again what it may have; it may miss it.")
  var noResend = false

  @Flag(help: "Reject what does not fit the device's limits, instead of cutting it.")
  var strict = false

  @Flag(help: "To a device without identities: send again what it had before it restarted.")
  var replay = false

  func validate() throws {
    if let timeout, !(0.1...604_800).contains(timeout) {
      throw ValidationError("--timeout is 0.1 to 604800 seconds")
    }
    guard (1...1_000_000).contains(entriesLimit) else {
      throw ValidationError("--entries-limit is 1 to 1000000")
    }
    if let listen {
      guard listen.hasPrefix("unix:"), listen.count > 5 else {
        throw ValidationError("--listen takes unix: and a path, as in unix:/run/user/1000/notibot.sock")
      }
      guard !noWait, timeout == nil else {
        throw ValidationError("--listen runs until interrupted: --timeout and --no-wait do not go with it")
      }
    }
    guard !noWait || timeout == nil else { throw ValidationError("--no-wait does not go with --timeout") }
  }

  func run() async throws {
    let command = self
    try await Interruption.cancelling { try await command.forward() }
  }

  private func forward() async throws {
    let results = ForwardResults(showsEventsAsJSON: json, isStrict: strict)
    let options = try forwardingOptions()
    do {
      try await Board.withPort(line) { port in
        try await withForwarder(port: port, outbox: outbox, options: options) { forwarder in
          try await serve(forwarder, results)
        }
      }
    } catch let error as NotibotError {
      throw CommandFailure(error)
    }
    try results.checkAllTaken()
  }

  private func forwardingOptions() throws -> ForwardingOptions {
    var options = ForwardingOptions()
    options.bitsPerSecond = try line.resolvedBitsPerSecond().value
    options.entriesLimit = entriesLimit
    options.resendsPlain = !noResend
    options.replaysPlain = replay
    if let step = KillStep() { options.journalStep = { step.pass() } }
    return options
  }

  /// Feeds the forwarder and shows what it tells, until the input or the forwarder ends, or this task is cancelled.
  private func serve(_ forwarder: Forwarder, _ results: ForwardResults) async throws {
    // Not children: what is told on the way out must still be shown after a cancellation.
    let printing = Task { for await report in forwarder.reports { results.show(report) } }
    let watching = Task { for await change in forwarder.changes { results.show(change) } }
    let listen = listen.map { String($0.dropFirst(5)) }
    let (noWait, timeout) = (noWait, timeout)
    let feeding = Task {
      if let listen {
        try await ForwardSocket.serve(at: listen, forwarder, results)
      } else {
        try await Self.feed(InputLines(path: "-"), to: forwarder, results)
        if !noWait { try await forwarder.finish(within: timeout.map { .seconds($0) }) }
      }
    }
    let guarding = Task {
      _ = try? await forwarder.ended()
      feeding.cancel()
    }
    let outcome = await withTaskCancellationHandler {
      await feeding.result
    } onCancel: {
      feeding.cancel()
    }
    await forwarder.stop()
    await guarding.value
    await printing.value
    await watching.value
    try await forwarder.ended()
    try outcome.get()
  }

  private static func feed(
    _ input: InputLines, to forwarder: Forwarder, _ results: ForwardResults
  ) async throws {
    while true {
      let lines: [InputLines.Line]
      do {
        guard let next = try await input.next() else { return }
        lines = next
      } catch let failure as CommandFailure where failure.status == .usage {
        // What came before it is delivered all the same.
        return results.rejectRest(failure)
      }
      let batch = lines.compactMap { results.submission(for: $0.bytes, line: $0.number, client: nil) }
      _ = await forwarder.submit(batch)
      try Task.checkCancellation()
    }
  }
}
