import ArgumentParser
import Foundation
import NotibotHost
import NotibotProtocol
import SerialLink

/// `notibot send`: one notification from options, or many from a file.
struct SendCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "send", abstract: "Send notifications, and learn whether the device took them.",
    discussion: """
      Ends with 0 only if the device accepted every one. What is too long is cut to the device's limits, with a warning; \
      with --strict it is refused before it is sent.

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

  @Flag(help: "Refuse what would be cut, and text that is not UTF-8, instead of changing it: exit code 2.")
  var strict = false

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
    if strict, input == nil, case let alteration = alteration(of: single), !alteration.isNone {
      throw CommandFailure(
        .usage, "cannot send the notification unchanged: \(alteration.text)",
        remedy: "shorten or fix it, or leave --strict out")
    }
    let report = SendReport(json: json, isSingle: input == nil)
    defer { report.printSummary() }
    do {
      try await Board.with(port) { device in
        guard let input else { return try await sendOne(device, report) }
        var progress = Progress("sending", total: Self.isLong(input) ? input.sizeBytes ?? 0 : 0)
        while let lines = try await input.next() {
          let (readable, failure) = NotificationLine.parsing(lines, isStrict: strict)
          try await sendAll(readable, device, report)
          if let failure { throw failure }
          progress.update(input.doneBytes)
        }
      }
    } catch let failure as CommandFailure where failure.status != .usage && !Task.isCancelled {
      // What a file still holds was not sent, and each line of it is told so. Who writes into a pipe may take for ever.
      if let input, input.sizeBytes != nil {
        while let lines = try? await input.next() { report.addUnsent(lines.map(\.number)) }
      }
      throw failure
    }
    if report.refusedCount > 0 {
      throw CommandFailure(
        .refused,
        "cannot send all to \(try port.resolvedPort().value.description.printable): the device refused "
          + "\(report.refusedCount) of \(report.totalCount) notifications", remedy: "see the reasons above")
    }
  }

  /// The notification of the options.
  private var single: NotibotProtocol.Notification {
    NotibotProtocol.Notification(
      app: app ?? "", title: title ?? "", text: text ?? "",
      timestamp: timestamp ?? UInt32(clamping: Int(Date().timeIntervalSince1970)))
  }

  private func alteration(of notification: NotibotProtocol.Notification) -> Alteration {
    var alteration = Alteration(of: notification)
    alteration.isReplaced = [app, title, text].contains { $0.map(Alteration.isRepaired) ?? false }
    return alteration
  }

  private func sendOne(_ device: Device, _ report: SendReport) async throws {
    let notification = single
    let alteration = alteration(of: notification)
    do {
      try await device.send(notification)
      report.add(1, .success(()), alteration)
    } catch let error as NotibotError {
      report.add(1, .failure(error))
      throw error
    }
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

  /// Shorter files are sent before anybody could read of their progress.
  private static func isLong(_ input: InputLines) -> Bool {
    (input.sizeBytes ?? 0) > 262_144
  }
}

/// A notification and the line that it came from.
struct NotificationLine: Sendable {
  var number: Int
  var notification: NotibotProtocol.Notification
  var alteration: Alteration

  /// Reads lines up to the first that cannot be read, or if `isStrict` not be sent unchanged.
  static func parsing(
    _ lines: [InputLines.Line], isStrict: Bool
  ) -> ([NotificationLine], CommandFailure?) {
    var readable: [NotificationLine] = []
    for line in lines {
      do {
        // Too long for the device is not too long for a file: the host cuts (PROTOCOL.md NTF-7).
        let notification = try NotibotProtocol.Notification(parsingUncut: line.bytes)
        let alteration = Alteration(of: notification)
        guard !isStrict || alteration.isNone else {
          let failure = CommandFailure(
            .usage, "line \(line.number) cannot be sent unchanged: \(alteration.text)",
            remedy: "shorten it, or leave --strict out")
          return (readable, failure)
        }
        readable.append(
          NotificationLine(number: line.number, notification: notification, alteration: alteration))
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
