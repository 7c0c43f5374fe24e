import ArgumentParser
import Foundation
import NotibotHost
import SerialLink

/// `notibot outbox`: what waits in an outbox's file, and what a person may do about it.
struct OutboxCommand: ParsableCommand {
  /// What is asked of the outbox.
  enum Action: String, CaseIterable, ExpressibleByArgument {
    case list
    case stats
    case retry
    case drop
    case salvage
  }

  static let configuration = CommandConfiguration(
    commandName: "outbox", abstract: "Show what waits in an outbox, try it again, drop it, or salvage it.",
    discussion: """
      list    each notification: number, state, level, age by its timestamp, app, title, why it was refused
      stats   how many are in each state, the writer's identity, the size of the file
      retry   queues again what the device has refused: the given numbers, or all
      drop    takes the given numbers out of the outbox
      salvage prints what can be read of a damaged outbox, one JSON document per line, as 'forward' takes them

      queued, written and updating go out with the next forwarding, held are on the device, refused wait for you. 'drop' \
      deletes what is queued or refused at once. What is on the device, or may be, becomes 'removing': the next \
      forwarding takes it off the device. With --forget it is deleted at once and stays on the device; do that only when \
      that device will not be seen again.

      'list' and 'stats' work while a process forwards; 'retry' and 'drop' do not. docs/JOURNAL.md describes the file.

      \(ExitStatus.helpTable)
      """)

  @Option(
    name: .customLong("file"),
    help: ArgumentHelp("The outbox's file. It is never made here.", valueName: "path"))
  var namedFile: String?

  @Flag(help: "Print one JSON document.")
  var json = false

  @Flag(help: "With stats: read the whole file and look for damage.")
  var check = false

  @Flag(help: "With drop: delete also what is on the device, without a word to it.")
  var forget = false

  @Argument(help: "list, stats, retry, drop or salvage.")
  var action: Action

  @Argument(
    help: ArgumentHelp(
      "Numbers of notifications, as 'list' shows them; with salvage the outbox's file.", valueName: "number"))
  var operands: [String] = []

  private var file: String { namedFile ?? (action == .salvage ? operands.first ?? "" : "") }
  private var numbers: [Int64] { operands.compactMap(Int64.init) }

  func validate() throws {
    switch action {
    case .list, .stats:
      if !operands.isEmpty { throw ValidationError("'\(action.rawValue)' takes no numbers") }
    case .retry: break
    case .drop: if operands.isEmpty { throw ValidationError("'drop' needs the numbers to drop") }
    case .salvage:
      guard operands.count + (namedFile == nil ? 0 : 1) == 1, !file.isEmpty else {
        throw ValidationError("'salvage' needs one file")
      }
    }
    if action != .salvage {
      guard namedFile != nil else { throw ValidationError("name the outbox with --file") }
      if let wrong = operands.first(where: { Int64($0) == nil }) {
        throw ValidationError("'\(wrong.printable)' is not a number")
      }
    }
    if check, action != .stats { throw ValidationError("--check goes with 'stats'") }
    if forget, action != .drop { throw ValidationError("--forget goes with 'drop'") }
  }

  func run() throws {
    do {
      switch action {
      case .list: try list()
      case .stats: try showStatistics()
      case .retry: try maintain { try JournalMaintenance.retry($0, in: $1) }
      case .drop where forget: try maintain { try JournalMaintenance.forget($0, in: $1) }
      case .drop: try maintain { try JournalMaintenance.drop($0, in: $1) }
      case .salvage: try salvage()
      }
    } catch let error as JournalError {
      throw CommandFailure(error)
    }
  }

  private func list() throws {
    let journal = try Journal(path: file, access: .reading)
    defer { journal.close() }
    let listing = OutboxListing(file: file, try journal.contents().entries, now: Date().timeIntervalSince1970)
    if json {
      try Output.json(listing, pretty: true)
    } else if listing.notifications.isEmpty {
      Output.note("notibot: the outbox is empty")
    } else {
      Output.data(listing.text)
    }
  }

  private func showStatistics() throws {
    let journal = try Journal(path: file, access: .reading)
    defer { journal.close() }
    let statistics = OutboxStatistics(file: file, try journal.contents(), isChecked: check)
    if check { try journal.check() }
    if json {
      try Output.json(statistics, pretty: true)
    } else {
      Output.data(statistics.text)
    }
  }

  private func salvage() throws {
    let salvage = try JournalSalvage(path: file)
    for entry in salvage.entries { Output.data(Output.record(SalvagedNotification(entry))) }
    for finding in salvage.findings { Output.note("notibot: \(finding)".printable) }
    let count = salvage.entries.count
    let expected = salvage.expectedCount.map { " of \($0)" } ?? ""
    guard salvage.isComplete else {
      throw CommandFailure(
        .unfitEnvironment, "salvaged \(count)\(expected) notifications; the others cannot be read",
        remedy: "the file was not changed; see docs/JOURNAL.md for what to do with the output")
    }
    Output.note("notibot: salvaged \(count)\(expected) notifications")
  }

  private func maintain(
    _ plan: ([OutboxNumber], JournalContents) throws -> JournalMaintenance.Plan
  ) throws {
    let journal = try Journal(path: file, access: .maintaining)
    defer { journal.close() }
    let result: JournalMaintenance.Plan
    do {
      result = try plan(numbers.map { OutboxNumber(rawValue: $0) }, try journal.contents())
    } catch let refusal as JournalMaintenance.Refusal {
      throw CommandFailure(refusal)
    }
    try journal.apply(result.changes)
    let report = OutboxMaintenanceReport(result)
    if json {
      try Output.json(report, pretty: true)
    } else {
      Output.data(report.text)
    }
  }
}

extension CommandFailure {
  fileprivate init(_ refusal: JournalMaintenance.Refusal) {
    switch refusal {
    case .unknownNumber(let number):
      self.init(
        .usage, "there is no notification \(number.rawValue) in the outbox; nothing was changed",
        remedy: "see 'notibot outbox list' for the numbers")
    case .notRefused(let number, let state):
      self.init(
        .usage, "notification \(number.rawValue) is \(state), not refused; nothing was changed",
        remedy: "only what the device has refused can be tried again")
    }
  }
}
