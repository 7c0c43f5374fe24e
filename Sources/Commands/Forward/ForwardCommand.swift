import ArgumentParser
import Foundation
import NotibotHost
import NotibotProtocol
import SerialLink

/// `notibot forward`: delivers each notification exactly once, despite failures of cable, device
/// and this process.
struct ForwardCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "forward",
    abstract:
      "Deliver each notification exactly once, despite unplugging, restarts and crashes.",
    discussion: """
      Reads one JSON document per line from standard input, or from clients of a unix socket: \
      {"app":"Messages","title":"Jane Doe","text":"Hi","timestamp":1234567890}, with optional lvl, cat, grp, act, exp \
      and fl. A line whose "key" (1 to 128 bytes) was accepted before is not stored again: repeat lines without an \
      answer with the same key. A document with "number" replaces the content of that notification; {"number":N,"ev":"r"} removes it. \
      Results are printed on standard output, one JSON document per line.

      Queued notifications are kept in the outbox file until the device is connected, if necessary until the next run. \
      At the end of its input the command waits until all notifications are delivered.
      """)

  @OptionGroup var line: LineOptions

  @Option(
    help: ArgumentHelp("Outbox file for undelivered notifications; created if missing.", valueName: "path")
  )
  var outbox: String

  @Option(
    help: ArgumentHelp(
      "Read notifications from clients of this unix socket instead of standard input.",
      discussion: "Runs until interrupted.", valueName: "unix:path"))
  var listen: String?

  @Option(
    help: ArgumentHelp(
      "Group whose members can connect to the socket of --listen (default: only this user).",
      valueName: "name"))
  var group: String?

  @Flag(help: "Print connection changes on standard output as JSON, instead of as text on standard error.")
  var json = false

  @Option(
    help: ArgumentHelp(
      "Time limit for deliveries after the end of the input, and for room in a full outbox, 0.1-604800 (default: none).",
      valueName: "seconds"))
  var timeout: Double?

  @Flag(help: "Exit when all input is in the outbox, delivered or not.")
  var noWait = false

  @Option(
    help: ArgumentHelp(
      "Capacity of the outbox, 1-1000000; while it is full, standard input is not read, and clients are answered.",
      valueName: "number"))
  var entriesLimit = 10_000

  @Flag(
    help:
      "For devices without identities: never resend after an unknown outcome (can lose, never duplicates).")
  var noResend = false

  @Flag(help: "Reject notifications that exceed the device's limits instead of truncating them.")
  var strict = false

  @Flag(help: "For devices without identities: resend delivered notifications after a restart of the device.")
  var replay = false

  func validate() throws {
    if let timeout, !(0.1...604_800).contains(timeout) {
      throw ValidationError("--timeout must be 0.1 to 604800 seconds")
    }
    guard (1...1_000_000).contains(entriesLimit) else {
      throw ValidationError("--entries-limit must be 1 to 1000000")
    }
    if let listen {
      guard listen.hasPrefix("unix:"), listen.count > 5 else {
        throw ValidationError("--listen must be unix:PATH, for example unix:/run/user/1000/notibot.sock")
      }
      guard !noWait, timeout == nil else {
        throw ValidationError(
          "--listen runs until interrupted; it cannot be combined with --timeout or --no-wait")
      }
    }
    guard group == nil || listen != nil else { throw ValidationError("--group needs --listen") }
    guard !noWait || timeout == nil else {
      throw ValidationError("--no-wait cannot be combined with --timeout")
    }
  }

  func run() async throws {
    let command = self
    // Standard input, the only writer otherwise, waits for the reader of its results.
    if listen != nil { Output.beginServing() }
    Output.endWithReader()
    try await Interruption.cancelling { try await command.forward() }
  }

  private func forward() async throws {
    let results = ForwardResults(showsEventsAsJSON: json, isStrict: strict, entriesLimit: entriesLimit)
    let options = try forwardingOptions()
    try await BoardAccess.withPort(line) { port in
      try await withForwarder(port: port, outbox: outbox, options: options) { forwarder in
        try await serve(forwarder, results)
      }
    }
    results.summarize()
    try results.checkAllTaken()
  }

  private func forwardingOptions() throws -> ForwardingOptions {
    var options = ForwardingOptions()
    options.bitsPerSecond = try line.resolvedBitsPerSecond().value
    options.entriesLimit = entriesLimit
    options.resendsPlain = !noResend
    options.replaysPlain = replay
    options.mergesChanges = true
    options.roomLimit = timeout.map { .seconds($0) }
    if let step = KillStep() { options.journalStep = { step.pass() } }
    return options
  }

  /// Feeds the forwarder and prints its reports, until the input or the forwarder ends, or this
  /// task is cancelled.
  private func serve(_ forwarder: Forwarder, _ results: ForwardResults) async throws {
    // Not child tasks: reports that arrive after a cancellation must still be printed.
    let printing = Task {
      for await event in forwarder.events {
        switch event {
        case .report(let report): results.show(report)
        case .change(let change): results.show(change)
        }
      }
    }
    let listen = listen.map { String($0.dropFirst(5)) }
    let (noWait, timeout, group) = (noWait, timeout, group)
    let feeding = Task {
      if let listen {
        try await ForwardSocket.serve(at: listen, group: group, forwarder, results)
      } else {
        try await Self.feed(InputLines(path: "-"), to: forwarder, results)
        if let timeout { Self.endBlocked(after: .seconds(timeout)) }
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
    try await forwarder.ended()
    try outcome.get()
  }

  /// The forwarder ends little more than 2 s after its limit, unless its disk or the reader of the
  /// output is blocked.
  private static func endBlocked(after limit: Duration) {
    Interruption.end(
      after: limit + .seconds(3),
      with: Failure(.noAnswer, "the time limit was reached, and the disk or the output is blocked"))
  }

  private static func feed(
    _ input: InputLines, to forwarder: Forwarder, _ results: ForwardResults
  ) async throws {
    while let lines = try await input.next() {
      let batch = lines.compactMap { results.submission(for: $0, client: nil) }
      _ = await forwarder.submit(batch)
      try Task.checkCancellation()
    }
  }
}
