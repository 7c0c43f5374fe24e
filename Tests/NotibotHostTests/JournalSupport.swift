import CSimulatedDisk
import Foundation
import NotibotHost
import NotibotProtocol
import Synchronization
import Testing

/// A folder of its own, removed with this value.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "notibot-journal.\(UInt64.random(in: 0...UInt64.max))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { "\(path)/\(name)" }

  func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
}

/// A disk in memory that loses unsynced changes in a crash.
final class SimulatedDisk: Sendable {
  private static let lastID = Atomic<UInt64>(1_000_000)

  let id: UInt64

  init(seed: UInt64) {
    id = Self.lastID.wrappingAdd(1, ordering: .relaxed).newValue
    #expect(sd_create(id, seed) == 0)
  }

  deinit { sd_destroy(id) }

  var journal: String { "/simulated/\(id)/outbox" }

  var counters: sd_counters_t {
    var counters = sd_counters_t()
    #expect(sd_counters(id, &counters) == 0)
    return counters
  }

  func open(_ access: Journal.Access = .forwarding) throws(JournalError) -> Journal {
    try Journal(path: journal, access: access, sharing: .exclusive, source: 7)
  }

  func crash() { #expect(sd_crash(id) == 0) }
}

/// Journal entries for tests.
enum Entries {
  static func content(_ title: String, text: String = "See you tomorrow!") -> DisplayNotification {
    DisplayNotification(app: "Messages", title: title, text: text, timestamp: 1_234_567_890)
  }

  static func queued(_ number: Int64, title: String = "Jane Doe") -> OutboxEntry {
    OutboxEntry(number: OutboxNumber(rawValue: number), content: content(title))
  }

  static func write(_ id: UInt32, revision: UInt16 = 0) -> OutboxWrite {
    OutboxWrite(id: id, revision: revision, json: Array(#"{"app":"é","id":\#(id)}"#.utf8))
  }

  /// One in each state, and content of every kind.
  static var varied: [OutboxEntry] {
    var rich = content("\"; DROP TABLE notification; --\n\t", text: "naïve 👩‍👩‍👧 \u{202E}\u{1B}[31m")
    rich.details.level = .critical
    rich.details.category = 255
    rich.details.group = "döner"
    rich.details.actions = ["Yes", "\"No\",\n", ""]
    rich.details.expires = .max
    rich.details.flags = 3
    var passive = content("", text: String(repeating: "x", count: 100_000))
    passive.details.level = .passive
    var urgent = content("Late")
    urgent.details.level = .timeSensitive
    urgent.timestamp = .max
    let states: [(DisplayNotification, OutboxEntry.State, Bool)] = [
      (rich, .queued, false), (passive, .written(write(1)), true),
      (urgent, .held(write(2, revision: 65535)), false),
      (content("d"), .updating(held: write(.max), next: write(.max, revision: 1)), true),
      (content("e"), .removing(id: 4), false), (content("f"), .refused(.notANotification), false),
      (content("g"), .refused(ATTError(rawValue: 0xEE)), true), (content("h"), .written(write(0)), false),
    ]
    return states.enumerated().map { index, entry in
      OutboxEntry(
        number: OutboxNumber(rawValue: Int64(index * index + 1)), content: entry.0, state: entry.1,
        hasNewerContent: entry.2, isReported: index % 2 == 0)
    }
  }
}

/// The code of the error that `body` throws; `nil` if it throws none.
func journalErrorCode(_ body: () throws -> Void) -> JournalError.Code? {
  do {
    try body()
    return nil
  } catch {
    return (error as? JournalError)?.code
  }
}
