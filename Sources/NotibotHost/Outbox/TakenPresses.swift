import NotibotProtocol

/// The highest press that was taken in a boot of a device, as the journal keeps it. Source:
/// PROTOCOL.md NTF-42.
package struct TakenPresses: Hashable, Sendable {
  package let bootID: UInt32
  /// The number of the press, from 1.
  package var press: UInt32

  package init(bootID: UInt32, press: UInt32) {
    self.bootID = bootID
    self.press = press
  }
}

/// What was taken in the latest boots, the one that was used least recently first.
struct PressRecords: Equatable, Sendable {
  /// Remembered boots, at most. Source: PROTOCOL.md NTF-42.
  static let limit = 16

  private var records: [TakenPresses]

  init(_ records: [TakenPresses]) {
    self.records = records
  }

  /// The highest press taken in a boot; 0: none.
  func highest(in bootID: UInt32) -> UInt32 {
    records.last { $0.bootID == bootID }?.press ?? 0
  }

  mutating func forget(_ bootID: UInt32) {
    records.removeAll { $0.bootID == bootID }
  }

  /// Records a press, and returns the changes of the journal.
  mutating func record(_ press: UInt32, in bootID: UInt32) -> [JournalChange] {
    records.removeAll { $0.bootID == bootID }
    var changes: [JournalChange] = []
    while records.count >= Self.limit { changes.append(.deletePresses(records.removeFirst().bootID)) }
    records.append(TakenPresses(bootID: bootID, press: press))
    changes.append(.putPresses(TakenPresses(bootID: bootID, press: press)))
    return changes
  }
}

/// A press that the journal is to have before it is reported.
struct PendingPress: Equatable, Sendable {
  var press: KeptPress
  var bootID: UInt32
  /// The notification; `nil` if the outbox does not have it any more.
  var number: OutboxNumber?
  /// Whether it was for another text than the newest one.
  var isStale: Bool
}

/// Presses that no commit has yet, with the changes that make them durable.
struct PendingPresses: Equatable, Sendable {
  private var changes: [JournalChange] = []
  private var presses: [PendingPress] = []

  var isEmpty: Bool { changes.isEmpty && presses.isEmpty }

  func contains(_ number: UInt32, in bootID: UInt32) -> Bool {
    presses.contains { $0.press.number == number && $0.bootID == bootID }
  }

  mutating func append(_ press: PendingPress, _ changes: [JournalChange]) {
    presses.append(press)
    self.changes += changes
  }

  /// Those of this boot id are forgotten: it is another boot.
  mutating func forget(_ bootID: UInt32) {
    changes.append(.deletePresses(bootID))
  }

  /// All changes and presses, which are then no longer pending.
  mutating func drain() -> (changes: [JournalChange], presses: [PendingPress]) {
    defer { self = PendingPresses() }
    return (changes, presses)
  }
}
