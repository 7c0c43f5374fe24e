import ArgumentParser
import Foundation
import NotibotHost
import SerialLink

/// `notibot outbox`: lists and changes the entries of an outbox file.
struct OutboxCommand: ParsableCommand {
  /// The action of the first argument.
  enum Action: String, CaseIterable, ExpressibleByArgument {
    case list
    case stats
    case retry
    case drop
    case salvage
  }

  static let configuration = CommandConfiguration(
    commandName: "outbox", abstract: "List, retry, drop or salvage the notifications of an outbox.",
    discussion: """
      ACTIONS
        list     list notifications: number, state, level, age, app, title, reason
        stats    count notifications per state; show identity and size of the file
        retry    queue refused notifications again: the given numbers, or all
        drop     remove the given numbers from the outbox
        salvage  print the readable notifications of a damaged outbox as NDJSON

      Notifications in the states queued, written and updating are sent by the next 'forward'; held are on the device; \
      refused need a decision. 'drop' deletes queued and refused notifications immediately. Notifications that are, or \
      may be, on the device become 'removing'; the next 'forward' removes them from the device. With --forget they are \
      deleted immediately and stay on the device: use it only for a device that will not be connected again.

      'list' and 'stats' work while 'forward' is running; 'retry' and 'drop' do not. docs/JOURNAL.md describes the file.
      """)

  @Option(
    name: .customLong("file"),
    help: ArgumentHelp("Outbox file; it must exist.", valueName: "path"),
    completion: .file())
  var namedFile: String?

  @Flag(help: "Print one JSON document; 'salvage' always prints NDJSON.")
  var json = false

  @Flag(help: "With stats: check the whole file for damage.")
  var check = false

  @Flag(help: "With drop: also delete delivered notifications, without removing them from the device.")
  var forget = false

  @Argument(help: "Action; see above.")
  var action: Action

  @Argument(
    help: ArgumentHelp(
      "Numbers of notifications, as printed by 'list'; with salvage, the outbox file.", valueName: "number"))
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
    if check, action != .stats { throw ValidationError("--check requires 'stats'") }
    if forget, action != .drop { throw ValidationError("--forget requires 'drop'") }
  }

  func run() throws {
    switch action {
    case .list: try list()
    case .stats: try showStatistics()
    case .retry: try maintain { try JournalMaintenance.retry($0, in: $1) }
    case .drop where forget: try maintain { try JournalMaintenance.forget($0, in: $1) }
    case .drop: try maintain { try JournalMaintenance.drop($0, in: $1) }
    case .salvage: try salvage()
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
      Output.data(listing.text(columns: HelpLayout.givenColumns()))
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
    // The first key of a number is that of the notification, later ones those of its changes.
    let keys = Dictionary(salvage.keys.map { ($0.number, $0.key) }) { first, _ in first }
    for entry in salvage.entries {
      Output.data(Output.record(SalvagedNotification(entry, key: keys[entry.number])))
    }
    for finding in salvage.findings { Output.note("notibot: \(finding)".printable) }
    let count = salvage.entries.count
    let expected = salvage.expectedCount.map { " of \($0)" } ?? ""
    guard salvage.isComplete else {
      throw Failure(
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
    let result = try plan(numbers.map { OutboxNumber(rawValue: $0) }, try journal.contents())
    try journal.apply(result.changes)
    let report = OutboxMaintenanceReport(result)
    if json {
      try Output.json(report, pretty: true)
    } else {
      Output.data(report.text)
    }
  }
}
