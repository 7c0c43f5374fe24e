import Foundation
import NotibotHost
import NotibotProtocol
import SerialLink

/// The report of `outbox list`.
struct OutboxListing: Encodable {
  struct Item: Encodable {
    var number: Int64
    var state: String
    /// The number on the wire, if it has one.
    var id: UInt32?
    var revision: UInt16?
    var hasNewerContent: Bool
    var level: String
    var app: String
    var title: String
    var text: String
    var timestamp: UInt32
    /// Why the device refused it.
    var reason: String?
    var attError: UInt8?
  }

  let schema = "notibot.outbox.list"
  let version = 1
  var file: String
  var notifications: [Item]
  private let now: Double

  private enum CodingKeys: String, CodingKey {
    case schema, version, file, notifications
  }

  /// - Parameter now: seconds since 1970-01-01 UTC, for the ages.
  init(file: String, _ entries: [OutboxEntry], now: Double) {
    self.file = file
    self.now = now
    notifications = entries.map(Item.init)
  }

  /// As text: a table, whose longest cells are cut to its width.
  func text(columns: Int?) -> String {
    let rows =
      [["NUMBER", "STATE", "LEVEL", "AGE", "APP", "TITLE", "REASON"]]
      + notifications.map { item in
        [
          String(item.number), item.state, item.level, Self.age(now - Double(item.timestamp)), item.app,
          item.title,
          item.reason ?? "",
        ].map { $0.printable }
      }
    return Table.text(rows, columns: columns)
  }

  /// The age in the largest unit that is not 0; a dash for times in the future.
  private static func age(_ seconds: Double) -> String {
    switch seconds {
    case ..<0: "-"
    case ..<60: "\(Int(seconds))s"
    case ..<3600: "\(Int(seconds / 60))m"
    case ..<86_400: "\(Int(seconds / 3600))h"
    case _: "\(Int(seconds / 86_400))d"
    }
  }
}

extension OutboxListing.Item {
  init(_ entry: OutboxEntry) {
    let content = entry.content
    self.init(
      number: entry.number.rawValue, state: entry.state.name, hasNewerContent: entry.hasNewerContent,
      level: content.details.level.name, app: content.app, title: content.title, text: content.text,
      timestamp: content.timestamp)
    switch entry.state {
    case .queued: break
    case .written(let write), .held(let write), .updating(let write, _):
      id = write.id
      revision = write.revision
    case .removing(let removed): id = removed
    case .refused(let error):
      reason = "\(error)"
      attError = error.rawValue
    }
  }
}

/// The report of `outbox stats`.
struct OutboxStatistics: Encodable {
  let schema = "notibot.outbox.stats"
  let version = 1
  var file: String
  /// Notifications per state, and in total.
  var states: [String: Int]
  var notifications: Int
  /// Remembered keys of submissions.
  var keys: Int
  /// The writer's identity, as on the wire.
  var source: UInt32
  var lastID: UInt32
  var knownID: UInt32
  var lastNumber: Int64
  /// How often it was opened for forwarding.
  var run: UInt32
  /// The device's boot of the last agreement of both sides, and of the last write; `nil` if there
  /// was none yet.
  var agreedBootID: UInt32?
  var writtenBootID: UInt32?
  /// Sizes of the file and of its log.
  var sizeBytes: Int
  var logSizeBytes: Int
  /// Whether the whole file was checked and no damage found.
  var isChecked: Bool

  init(file: String, _ contents: JournalContents, isChecked: Bool) {
    self.file = file
    var states = Dictionary(uniqueKeysWithValues: Self.stateNames.map { ($0, 0) })
    for entry in contents.entries { states[entry.state.name, default: 0] += 1 }
    self.states = states
    notifications = contents.entries.count
    keys = contents.keys.count
    source = contents.header.source
    lastID = contents.header.lastID
    knownID = contents.header.knownID
    lastNumber = contents.header.lastNumber.rawValue
    run = contents.header.run
    agreedBootID = contents.header.bootID
    writtenBootID = contents.header.writtenBootID
    sizeBytes = Self.sizeBytes(of: file)
    logSizeBytes = Self.sizeBytes(of: file + "-wal")
    self.isChecked = isChecked
  }

  /// As text: one line per figure.
  var text: String {
    func row(_ name: String, _ value: some CustomStringConvertible) -> String {
      name.padding(toLength: 20, withPad: " ", startingAt: 0) + "\(value)"
    }
    var rows = Self.stateNames.map { row($0, states[$0, default: 0]) }
    rows.append(row("notifications", notifications))
    rows.append(row("keys", keys))
    rows.append(row("source", "0x" + String(source, radix: 16)))
    rows.append(row("last id", lastID))
    rows.append(row("known id", knownID))
    rows.append(row("last number", lastNumber))
    rows.append(row("forwarded, times", run))
    rows.append(row("agreed in boot", Self.name(of: agreedBootID)))
    rows.append(row("wrote in boot", Self.name(of: writtenBootID)))
    rows.append(row("file, kB", (sizeBytes + 999) / 1000))
    rows.append(row("log, kB", (logSizeBytes + 999) / 1000))
    if isChecked { rows.append(row("damage", "none found")) }
    return rows.joined(separator: "\n")
  }

  private static let stateNames = ["queued", "written", "held", "updating", "removing", "refused"]

  private static func name(of bootID: UInt32?) -> String {
    bootID.map { "0x" + String($0, radix: 16) } ?? "none yet"
  }

  /// 0 when there is no such file.
  private static func sizeBytes(of path: String) -> Int {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : 0
  }
}

/// The report of `outbox retry` and `outbox drop`.
struct OutboxMaintenanceReport: Encodable {
  let schema = "notibot.outbox.change"
  let version = 1
  var queued: [Int64]
  var dropped: [Int64]
  var removing: [Int64]

  init(_ plan: JournalMaintenance.Plan) {
    queued = plan.queued.map(\.rawValue)
    dropped = plan.dropped.map(\.rawValue)
    removing = plan.removing.map(\.rawValue)
  }

  /// As text: one line per kind of change.
  var text: String {
    let lines = [
      ("queued again", queued), ("dropped", dropped),
      ("to be removed from the device by the next 'forward'", removing),
    ].filter { !$0.1.isEmpty }.map { "\($0.0): \($0.1.map(String.init).joined(separator: " "))" }
    return lines.isEmpty ? "nothing to do" : lines.joined(separator: "\n")
  }
}
