import ArgumentParser
import Foundation
import NotibotHost
import NotibotProtocol
import SerialLink
import Synchronization

/// `notibot send`: one notification from options, or many from a file.
struct SendCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "send", abstract: "Send notifications, and learn whether the device took them.",
    discussion: """
      Ends with 0 only if the device accepted every one. What is too long is cut to the device's limits.
      A file has one JSON document a line: {"app":"Messages","title":"Jane Doe","text":"Hi","timestamp":1234567890}. \
      At a line that cannot be read the command stops with exit code 2; the lines before it are sent.

      \(ExitStatus.helpTable)
      """)

  @OptionGroup var port: PortOptions

  @Option(help: "Who says it.")
  var app: String?

  @Option(help: "The first line.")
  var title: String?

  @Option(help: "The rest.")
  var text: String?

  @Option(help: ArgumentHelp("Seconds since 1970-01-01 UTC; now, without it.", valueName: "seconds"))
  var timestamp: UInt32?

  @Option(
    help: ArgumentHelp("Send one notification for each line of JSON; - is standard input.", valueName: "path")
  )
  var file: String?

  @Flag(help: "Print NDJSON: one document for each notification.")
  var json = false

  func validate() throws {
    let hasFields = app != nil || title != nil || text != nil || timestamp != nil
    switch (file, hasFields) {
    case (.some, true):
      throw ValidationError("--file does not go together with --app, --title, --text, --timestamp")
    case (nil, false): throw ValidationError("say what to send: --app, --title and --text, or --file")
    case (.some, false), (nil, true): break
    }
  }

  func run() async throws {
    let command = self
    try await Interruption.cancelling { try await command.send() }
  }

  private func send() async throws {
    let input = try file.map { try InputLines(path: $0) }
    let report = SendReport(json: json, isSingle: input == nil)
    defer { report.printSummary() }
    try await Board.with(port) { device in
      guard let input else { return try await sendOne(device, report) }
      var progress = Progress("sending", total: Self.isLong(input) ? input.sizeBytes ?? 0 : 0)
      while let lines = try await input.next() {
        let (readable, failure) = NotificationLine.parsing(lines)
        try await sendAll(readable, device, report)
        if let failure { throw failure }
        progress.update(input.doneBytes)
      }
    }
    if report.refusedCount > 0 {
      throw CommandFailure(
        .refused,
        "cannot send all to \(try port.resolvedPort().value.description.printable): the device refused "
          + "\(report.refusedCount) of \(report.totalCount) notifications", remedy: "see the reasons above")
    }
  }

  private func sendOne(_ device: Device, _ report: SendReport) async throws {
    let notification = Notification(
      app: app ?? "", title: title ?? "", text: text ?? "",
      timestamp: timestamp ?? UInt32(clamping: Int(Date().timeIntervalSince1970)))
    do {
      try await device.send(notification)
      report.add(1, .success(()))
    } catch let error as NotibotError {
      report.add(1, .failure(error))
      throw error
    }
  }

  private func sendAll(
    _ lines: [NotificationLine], _ device: Device, _ report: SendReport
  ) async throws {
    guard !lines.isEmpty else { return }
    _ = try await device.send(contentsOf: lines.map(\.notification)) { index, result in
      report.add(lines[index].number, result)
    }
  }

  /// Shorter files are sent before anybody could read of their progress.
  private static func isLong(_ input: InputLines) -> Bool {
    (input.sizeBytes ?? 0) > 262_144
  }
}

/// A notification and the line that it came from.
struct NotificationLine: Sendable {
  var number: Int
  var notification: NotibotProtocol.Notification

  /// Reads lines up to the first that cannot be read.
  static func parsing(_ lines: [InputLines.Line]) -> ([NotificationLine], CommandFailure?) {
    var readable: [NotificationLine] = []
    for line in lines {
      do {
        // Too long for the device is not too long for a file: the host cuts (PROTOCOL.md NTF-7).
        let notification = try NotibotProtocol.Notification(parsingUncut: line.bytes)
        readable.append(NotificationLine(number: line.number, notification: notification))
      } catch {
        let failure = CommandFailure(
          .usage, "line \(line.number) is not a notification: \(error)",
          remedy: #"write {"app":"…","title":"…","text":"…","timestamp":1234567890}, one a line"#)
        return (readable, failure)
      }
    }
    return (readable, nil)
  }
}

/// What became of the notifications; told by the device's thread, read by the command's.
final class SendReport: Sendable {
  private struct State {
    var accepted = 0
    var refused = 0
    var shown = 0
  }

  /// Reasons beyond these are counted only.
  private static let shownLimit = 20

  private let json: Bool
  private let isSingle: Bool
  private let state = Mutex(State())

  init(json: Bool, isSingle: Bool) {
    self.json = json
    self.isSingle = isSingle
  }

  var refusedCount: Int { state.withLock(\.refused) }

  var totalCount: Int { state.withLock { $0.accepted + $0.refused } }

  func add(_ line: Int, _ result: Result<Void, NotibotError>) {
    var document = Document(line: line, result: "accepted")
    let isShown = state.withLock { state in
      switch result {
      case .success:
        state.accepted += 1
        return false
      case .failure(let error):
        document = Document(line: line, error: error)
        if case .refused = error.code { state.refused += 1 }
        state.shown += 1
        return state.shown <= Self.shownLimit
      }
    }
    // The reason of a single one is the command's last line.
    if isShown, !isSingle { Output.note("line \(line): \(document.reason ?? "")") }
    if json { try? Output.json(document) }
  }

  /// The last line for a person.
  func printSummary() {
    guard !json, totalCount > 0 else { return }
    let (accepted, refused) = state.withLock { ($0.accepted, $0.refused) }
    if isSingle {
      if accepted == 1 { Output.data("accepted") }
    } else {
      Output.data("\(accepted) accepted, \(refused) refused")
    }
  }

  private struct Document: Encodable {
    var line: Int
    /// `accepted`, `refused`, `unknown` (sent, no answer) or `failed` (not sent).
    var result: String
    var attError: UInt8?
    var reason: String?

    init(line: Int, result: String) {
      self.line = line
      self.result = result
    }

    init(line: Int, error: NotibotError) {
      self.line = line
      reason = error.reason
      if case .refused(let code) = error.code {
        result = "refused"
        attError = code
      } else {
        result = error.isOutcomeUnknown ? "unknown" : "failed"
      }
    }
  }
}
