import ArgumentParser
import Foundation
import NotibotHost
import NotibotProtocol
import SerialLink

/// `notibot send`: one notification from options, or many from a file.
struct SendCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "send", abstract: "Send notifications and report whether the device accepted them.",
    discussion: """
      The exit code is 0 only if the device accepted every notification. Text that exceeds the device's limits is \
      truncated with a warning; with --strict the notification is not sent.

      A file has one JSON document per line: {"app":"Messages","title":"Jane Doe","text":"Hi","timestamp":1234567890}, \
      with lvl, cat, grp, act, exp and fl if you like. \
      At an invalid line the command stops with exit code 2; the lines before it have been sent.

      Over ble: and att: there is no session: a notification whose answer did not come before the connection was lost \
      is reported as unknown, and not sent again. Levels and buttons are left out.
      """)

  @Argument(help: "Text of the notification; - reads it from standard input.")
  var message: String?

  @OptionGroup var port: PortOptions

  @Option(help: "Name of the application.")
  var app: String?

  @Option(help: "Title of the notification.")
  var title: String?

  @Option(help: "Text of the notification.")
  var text: String?

  @Option(help: ArgumentHelp("Time in seconds since 1970-01-01 UTC (default: now).", valueName: "seconds"))
  var timestamp: UInt32?

  @Option(help: "How urgent it is.")
  var level: NotificationDetails.Level?

  @Option(
    help: ArgumentHelp(
      "Labels of buttons, 1 to 4 different ones of 1 to 24 bytes, separated by commas. "
        + "'notibot watch' shows presses.",
      valueName: "labels"))
  var actions: ActionLabels?

  @Option(
    help: ArgumentHelp(
      "Send one notification per line of this NDJSON file; - is standard input.", valueName: "path")
  )
  var file: String?

  @Flag(help: "Print NDJSON: one document per notification.")
  var json = false

  @Flag(help: "Reject text that is too long or not UTF-8 with exit code 2, instead of changing it.")
  var strict = false

  func validate() throws {
    try actions?.check()
    guard message == nil || text == nil else {
      throw ValidationError("the text is given twice: as an argument and with --text")
    }
    let hasFields =
      [message, app, title, text].contains { $0 != nil } || timestamp != nil || level != nil || actions != nil
    switch (file, hasFields) {
    case (.some, true):
      throw ValidationError("--file cannot be combined with the fields of a notification")
    case (nil, false):
      throw ValidationError(
        "no notification given: write its text, or use --app, --title and --text, or --file")
    case (.some, false), (nil, true): break
    }
  }

  func run() async throws {
    let command = self
    try await Interruption.cancelling {
      var command = command
      if command.message == "-" { command.message = try await InputLines(path: "-").wholeText() }
      try await command.send()
    }
  }

  private func send() async throws {
    let input = try file.map { try InputLines(path: $0) }
    if strict, input == nil, case let alteration = alteration(of: single), !alteration.isNone {
      throw Failure(
        .usage, "cannot send the notification unchanged: \(alteration.text)",
        remedy: "shorten or fix it, or omit --strict")
    }
    let report = SendReport(json: json, isSingle: input == nil)
    defer { report.printSummary() }
    do {
      try await BoardAccess.with(port) { device in
        guard let input else { return try await sendOne(device, report) }
        let total = Self.isLong(input) ? input.sizeBytes ?? 0 : 0
        var progress = Progress("sending", total: total, unit: "bytes")
        var hasWarned = false
        while let lines = try await input.next() {
          let (readable, failure) = NotificationLine.parsing(lines, isStrict: strict)
          if !hasWarned { hasWarned = await warn(of: readable.map(\.notification), on: device) }
          try await sendAll(readable, device, report)
          if let failure { throw failure }
          progress.update(input.doneBytes)
        }
      }
    } catch let failure as Failure where failure.kind != .usage && !Task.isCancelled {
      // Reports the remaining lines of a file as unsent. A pipe could block forever.
      if let input, input.sizeBytes != nil {
        while let lines = try? await input.next() { report.addUnsent(lines.map(\.number)) }
      }
      throw failure
    }
    if report.refusedCount > 0 {
      throw Failure(
        .refused,
        "cannot send all to \(try port.resolvedPort().value.description.printable): the device refused "
          + "\(report.refusedCount) of \(report.totalCount) notifications", remedy: "see the reasons above")
    }
  }

  /// The notification of the options.
  private var single: DisplayNotification {
    DisplayNotification(
      app: app ?? "", title: title ?? "", text: message ?? text ?? "",
      timestamp: timestamp ?? UInt32(clamping: Int(Date().timeIntervalSince1970)), details: details)
  }

  private var details: NotificationDetails {
    var details = NotificationDetails()
    details.level = level ?? details.level
    details.actions = actions?.labels ?? []
    return details
  }

  private func alteration(of notification: DisplayNotification) -> Alteration {
    var alteration = Alteration(of: notification)
    alteration.isReplaced = [app, title, message, text, actions?.text].contains {
      $0.map(Alteration.isRepaired) ?? false
    }
    return alteration
  }

  private func sendOne(_ device: Device, _ report: SendReport) async throws {
    let notification = single
    let alteration = alteration(of: notification)
    await warn(of: [notification], on: device)
    do {
      try await device.send(notification)
      report.add(1, .success(()), alteration)
    } catch let error as NotibotError {
      report.add(1, .failure(error))
      throw error
    }
  }

  /// Whether the device does not have what some of these notifications need; then prints it.
  @discardableResult
  private func warn(of notifications: [DisplayNotification], on device: Device) async -> Bool {
    guard notifications.contains(where: { $0.details != NotificationDetails() }),
      await !device.info.hasIdentity
    else { return false }
    let why =
      device.carrier == .sessions
      ? "the device has no levels and buttons"
      : "without a session nobody knows whether it has levels and buttons"
    Output.note("warning: \(why): it gets app, title, text and time alone")
    return true
  }

  private func sendAll(
    _ lines: [NotificationLine], _ device: Device, _ report: SendReport
  ) async throws {
    guard let first = lines.first else { return }
    report.begin(at: first.number)
    do {
      _ = try await device.send(contentsOf: lines.map(\.notification)) { index, result in
        report.add(lines[index].number, result, lines[index].alteration)
      }
    } catch {
      report.addUnsent(lines.map(\.number))
      throw error
    }
  }

  /// Shorter files are sent before their progress could be read.
  private static func isLong(_ input: InputLines) -> Bool {
    (input.sizeBytes ?? 0) > 262_144
  }
}

/// A notification and the line that it came from.
struct NotificationLine: Sendable {
  var number: Int
  var notification: DisplayNotification
  var alteration: Alteration

  /// Reads lines up to the first invalid one; if `isStrict`, to the first that cannot be sent
  /// unchanged.
  static func parsing(
    _ lines: [LineCutter.Line], isStrict: Bool
  ) -> ([NotificationLine], Failure?) {
    var readable: [NotificationLine] = []
    for line in lines {
      if line.isTooLong {
        let failure = Failure(
          .usage, "line \(line.number) has more than \(LineCutter.limitBytes) bytes",
          remedy: "write one JSON document per line")
        return (readable, failure)
      }
      do {
        // Too long for the device is not too long for a file: the host cuts (PROTOCOL.md NTF-7).
        let notification = try DisplayNotification(parsingDetailed: line.bytes)
        let alteration = Alteration(of: notification)
        guard !isStrict || alteration.isNone else {
          let failure = Failure(
            .usage, "line \(line.number) cannot be sent unchanged: \(alteration.text)",
            remedy: "shorten it, or omit --strict")
          return (readable, failure)
        }
        readable.append(
          NotificationLine(number: line.number, notification: notification, alteration: alteration))
      } catch {
        let failure = Failure(
          .usage, "line \(line.number) is not a notification: \(error)",
          remedy: #"write {"app":"…","title":"…","text":"…","timestamp":1234567890}, one per line"#)
        return (readable, failure)
      }
    }
    return (readable, nil)
  }
}
