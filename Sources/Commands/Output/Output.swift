import Foundation
import SerialLink
import Synchronization

/// The two streams of a command: data on stdout, everything else on stderr. Each line is written
/// immediately and as a whole, so that the reader of a pipe sees each result when it happens.
package enum Output {
  /// Data could not be written to stdout. `number`: EPIPE when the reader left, ENOSPC on a full
  /// disk.
  static func loss(_ number: Int32) -> Failure {
    Failure(
      .unfitEnvironment, "cannot write to standard output: \(String(cString: strerror(number)))",
      remedy: "redirect it to another file or program")
  }

  /// The board of a task among those of several boards: its lines begin with its name, and its
  /// document is collected.
  final class Board: Sendable {
    let name: String
    private let collected = Mutex<String?>(nil)

    init(name: String) { self.name = name }

    var document: String? { collected.withLock(\.self) }

    fileprivate func take(_ document: String) { collected.withLock { $0 = document } }
  }

  @TaskLocal static var board: Board?

  /// The lines with the name of their board in front.
  private static func named(_ lines: String) -> String {
    guard let board else { return lines }
    let parts = lines.split(separator: "\n", omittingEmptySubsequences: false)
    return parts.map { "[\(board.name)] \($0)" }.joined(separator: "\n")
  }

  private static let lost = Mutex<Failure?>(nil)

  /// Whether the streams are read by the runner of a GitHub workflow, which executes commands in
  /// lines.
  package static let isInWorkflow = ProcessInfo.processInfo.environment["GITHUB_ACTIONS"] == "true"
  /// Filters all output in a workflow, so that no text of a device or a server is a command.
  private static let filters = Mutex((data: WorkflowText(), notes: WorkflowText()))

  /// Throws `loss` when not all of the data could be written.
  package static func checkTaken() throws {
    if let loss = lost.withLock({ $0 }) { throw loss }
  }

  /// Writes one line of data to stdout, or several. When that fails, the command is cancelled: see
  /// `checkTaken`.
  package static func data(_ lines: String) {
    text(named(lines) + "\n")
  }

  /// Writes text, which includes its line ends, to stdout in one write; does nothing for an empty
  /// text.
  package static func text(_ text: String) {
    put(isInWorkflow ? filters.withLock { $0.data.filter(text) } : text)
  }

  /// Writes lines to stdout that can be commands to the runner of a workflow.
  package static func commands(_ lines: String) {
    put(lines + "\n")
  }

  private static func put(_ text: String) {
    guard !text.isEmpty else { return }
    if isatty(STDOUT_FILENO) == 1 { closeProgress() }
    if let number = write(text, to: STDOUT_FILENO) { lose(number) }
  }

  /// Writes one JSON document, or one line of NDJSON, to stdout. Keys are sorted, so that outputs
  /// compare.
  package static func json(_ value: some Encodable, pretty: Bool = false) throws {
    take(try document(value, pretty: pretty))
  }

  /// Writes JSON that is encoded already to stdout, escaped as `document` does.
  package static func json(document: String) {
    take(escaped(document))
  }

  private static func take(_ document: String) {
    if let board { board.take(document) } else { data(document) }
  }

  /// A value as JSON, with sorted keys, as `printableJSON` encodes it.
  package static func document(_ value: some Encodable, pretty: Bool = false) throws -> String {
    escaped(try value.printableJSON(isPretty: pretty))
  }

  /// A record of nothing but strings, numbers that are finite, and Bools, as a line of NDJSON
  /// without its end.
  package static func record(_ value: some Encodable) -> String {
    do {
      return try document(value)
    } catch {
      preconditionFailure("a record holds what JSON can hold: \(error)")
    }
  }

  private static func escaped(_ document: String) -> String {
    guard isInWorkflow else { return document.printableJSON }
    var filter = WorkflowText(.json)
    return filter.filter(document.printableJSON)
  }

  /// Writes one line for the user to stderr. All such lines pass here: whatever text is in one, it
  /// stays one line, and controls no terminal.
  package static func note(_ line: String) { noteLines(line.printable) }

  /// Writes lines to stderr, which are printable each.
  package static func noteLines(_ lines: String) {
    closeProgress()
    let text = named(lines.printableLines) + "\n"
    // An error here cannot be reported anywhere.
    _ = write(isInWorkflow ? filters.withLock { $0.notes.filter(text) } : text, to: STDERR_FILENO)
  }

  /// Writes lines to stderr that can be commands to the runner of a workflow.
  package static func noteCommands(_ lines: String) {
    closeProgress()
    _ = write(lines + "\n", to: STDERR_FILENO)
  }

  /// Whether a progress bar stands on stderr, without the end of its line.
  private static let hasOpenProgress = Mutex(false)

  /// Draws a progress bar on stderr in place of the previous one; the next output begins on a new
  /// line.
  package static func progress(_ bar: String, isDone: Bool) {
    guard board == nil else { return }
    hasOpenProgress.withLock { $0 = !isDone }
    _ = write("\r\(bar)\(isDone ? "\n" : "")", to: STDERR_FILENO)
  }

  /// Ends the line of a progress bar, if one stands there.
  package static func closeProgress() {
    let wasOpen = hasOpenProgress.withLock { isOpen in
      defer { isOpen = false }
      return isOpen
    }
    if wasOpen { _ = write("\n", to: STDERR_FILENO) }
  }

  /// Whether stderr is a terminal that can redraw a line.
  package static var hasTerminal: Bool {
    isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
  }

  /// Whether colour is wanted on a stream: a terminal, and `NO_COLOR` unset or empty
  /// (no-color.org).
  package static func usesColor(_ descriptor: Int32 = STDOUT_FILENO) -> Bool {
    let environment = ProcessInfo.processInfo.environment
    guard environment["NO_COLOR", default: ""].isEmpty, environment["TERM"] != "dumb" else { return false }
    return isatty(descriptor) == 1 || !["", "0"].contains(environment["FORCE_COLOR", default: ""])
  }

  /// Returns the error's number when not all was written.
  private static func write(_ text: String, to descriptor: Int32) -> Int32? {
    guard let queue = queues.withLock({ descriptor == STDOUT_FILENO ? $0?.data : $0?.notes }) else {
      return StandardStream.write(text, to: descriptor)
    }
    queue.put(text)
    return nil
  }

  // MARK: Servers

  /// Bytes that wait for the reader of a server's stdout, at most: results of 100 000 lines.
  private static let dataLimitBytes = 16 << 20
  private static let queues = Mutex<(data: OutputQueue, notes: OutputQueue)?>(nil)

  /// From now on output is queued, so that a reader of this process's output that is stalled does
  /// not stop its clients. Lines for which the queue has no room are dropped, and counted.
  package static func beginServing() {
    let data = OutputQueue(STDOUT_FILENO, limitBytes: dataLimitBytes, failure: lose) {
      #"{"event":"dropped","lines":\#($0)}"# + "\n"
    }
    queues.withLock { $0 = (data, .errors) }
    atexit { Output.finish() }
  }

  /// Ends the command with the reader of its output, also while there is nothing to write.
  package static func endWithReader() {
    var status = stat()
    guard fstat(STDOUT_FILENO, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return }
    Thread.detachNewThread {
      // Nothing is asked for: an end without a reader is reported anyway. Source: poll(2), POLLERR.
      var end = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
      while poll(&end, 1, -1) < 0, errno == EINTR {}
      lose(EPIPE)
    }
  }

  /// Waits for the queued output, for a limited time.
  package static func finish() {
    guard let queues = queues.withLock({ $0 }) else { return }
    queues.data.finish()
    queues.notes.finish()
  }

  /// Cancels the command, because data cannot be written.
  private static func lose(_ number: Int32) {
    lost.withLock { $0 = $0 ?? loss(number) }
    Interruption.cancel()
  }
}
