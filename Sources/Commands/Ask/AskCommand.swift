import ArgumentParser
import Foundation
import NotibotHost
import NotibotProtocol
import SerialLink

/// `notibot ask`: a question with buttons, and the choice as exit code.
struct AskCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ask",
    abstract: "Ask a question on the display, wait for a button, and print the choice.",
    discussion: """
      The question leaves the display when the command ends.

      EXIT CODES HERE
        0: the first action
        1: any other action, or the question was dismissed
        13: no choice within --timeout
        14: the server of a shared board ended
      """)

  @OptionGroup var line: LineOptions

  @Option(help: ArgumentHelp("Name of the asking program on the display.", valueName: "text"))
  var app = "ask"

  @Option(help: ArgumentHelp("Title of the question.", valueName: "text"))
  var title: String

  @Option(help: ArgumentHelp("Text of the question.", valueName: "text"))
  var text = ""

  @Option(
    help: ArgumentHelp(
      "Labels of the buttons, 1 to 4 different ones of 1 to 24 bytes, separated by commas.",
      valueName: "labels"))
  var actions = ActionLabels(labels: ["Approve", "Deny"])

  @Option(
    help: ArgumentHelp(
      "Time limit for the choice, 1s-24h: a number with s, m or h.", valueName: "time"))
  var timeout = "10m"

  @Option(
    help: ArgumentHelp(
      "Outbox file of the question (default: a temporary one).", valueName: "path"),
    completion: .file())
  var outbox: String?

  @Flag(help: "Ask even if the display can show only a part of the question.")
  var allowCut = false

  @Flag(help: "Print the choice as JSON.")
  var json = false

  /// With its unit.
  private var limitText: String { Int(timeout) == nil ? timeout.printable : timeout + "s" }

  func validate() throws {
    try actions.check()
    guard Self.seconds(timeout) != nil else {
      throw ValidationError("--timeout must be 1s to 24h, such as 90s, 10m or 1h")
    }
  }

  func run() async throws {
    let command = self
    let answer = try await Interruption.cancelling { try await command.ask() }
    try command.report(answer)
  }

  /// Reads `90s`, `10m`, `1h` or a number of seconds; nil if it is out of range.
  static func seconds(_ text: String) -> Int64? {
    let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600]
    let unit = text.last.flatMap { units[$0] }
    guard let count = Int64(unit == nil ? text[...] : text.dropLast()), (1...86_400).contains(count) else {
      return nil
    }
    let seconds = count * (unit ?? 1)
    return seconds <= 86_400 ? seconds : nil
  }

  private func question(seconds: Int64) throws -> DisplayNotification {
    let now = Int64(Date().timeIntervalSince1970)
    var details = NotificationDetails()
    details.level = .timeSensitive
    details.actions = actions.labels
    // If this process is killed, the question still leaves the display.
    details.expires = UInt32(clamping: now + seconds + 1)
    let question = DisplayNotification(
      app: app, title: title, text: text, timestamp: UInt32(clamping: now), details: details)
    guard allowCut || !Alteration(ofIdentified: question).isCut else {
      throw Failure(
        .usage, "the question is too long: the display would cut it",
        remedy: "shorten it, or use --allow-cut")
    }
    return question
  }

  private func ask() async throws -> AskAnswer {
    let seconds = Self.seconds(timeout) ?? 600
    let question = try question(seconds: seconds)
    var options = ForwardingOptions()
    options.bitsPerSecond = try line.resolvedBitsPerSecond().value
    if let step = KillStep() { options.journalStep = { step.pass() } }
    let folder = try outbox == nil ? TemporaryFolder("notibot-ask") : nil
    defer { folder?.remove() }
    let path = outbox ?? folder?.file("ask.sqlite") ?? ""
    return try await BoardAccess.withPort(line) { port in
      let isShared = if case .share = port.address { true } else { false }
      return try await withForwarder(port: port, outbox: path, options: options) { forwarder in
        try await AskRun(forwarder: forwarder, isShared: isShared)
          .answer(to: question, within: .seconds(seconds))
      }
    }
  }

  private func report(_ answer: AskAnswer) throws {
    var record = AskRecord(action: nil, choice: nil, reason: nil)
    switch answer {
    case .action(let number):
      record.action = number
      // Of another device or program: there is no such label.
      record.choice = actions.labels.dropFirst(Int(number)).first
    case .left(let reason): record.reason = reason
    case .timedOut: record.reason = "timeout"
    case .notShown: record.reason = "notShown"
    }
    if json {
      Output.data(Output.record(record))
    } else if let choice = record.choice {
      Output.data(choice.printable)
    }
    switch answer {
    case .action(0): return
    case .action: throw ArgumentParser.ExitCode(FailureKind.testFailed.rawValue)
    case .left(let reason):
      Output.note("notibot: the question left the display without a choice: \(reason)")
      throw ArgumentParser.ExitCode(FailureKind.testFailed.rawValue)
    case .timedOut(nil):
      throw Failure(.noAnswer, "no choice within \(limitText)")
    case .timedOut(let reason?):
      throw Failure(
        .noAnswer, "no choice within \(limitText); at the end the device was disconnected: \(reason)",
        remedy: "check the cable and the power supply")
    case .notShown(let obstacle):
      throw Failure(
        obstacle?.code == .portBusy ? .portBusy : .noAnswer,
        "the question was not shown within \(limitText): "
          + (obstacle?.description ?? "no session with the device"),
        remedy: obstacle?.hint ?? "")
    }
  }
}

/// What a question came to.
enum AskAnswer: Sendable {
  /// Counted from 0.
  case action(UInt32)
  /// Dismissed or evicted at the display.
  case left(reason: String)
  /// The reason, if there was no connection at the end.
  case timedOut(ConnectionReason?)
  /// It never was on the display; the reason, if the port could not be opened.
  case notShown(NotibotError?)
}

/// The line of `--json`.
private struct AskRecord: Encodable {
  var action: UInt32?
  var choice: String?
  var reason: String?
}
