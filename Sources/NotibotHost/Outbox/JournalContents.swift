import NotibotProtocol

/// The header of a journal: everything except the entries.
package struct JournalHeader: Hashable, Sendable {
  /// This writer's identity, never 0. Source: PROTOCOL.md NTF-21, NTF-35.
  package var source: UInt32
  /// The highest id given under `source`; 0: none yet. Source: PROTOCOL.md NTF-36.
  package var lastID: UInt32
  /// The highest id whose write succeeded. Source: PROTOCOL.md NTF-30.
  package var knownID: UInt32
  /// The highest outbox number ever given.
  package var lastNumber: OutboxNumber
  /// How often the journal was opened for sending.
  package var run: UInt32
  /// A random number of that opening, which a copy opened for sending does not share; 0: of a
  /// version that had none.
  package var runToken: UInt32
  /// The device's boot when it last agreed on its content; `nil`: never. Source: PROTOCOL.md
  /// NTF-35.
  package var bootID: UInt32?
  /// The device's boot of the last write; `nil`: none. Durable before the first write in that boot.
  /// Source: PROTOCOL.md NTF-35, NTF-36.
  package var writtenBootID: UInt32?

  package init(
    source: UInt32, lastID: UInt32 = 0, knownID: UInt32 = 0,
    lastNumber: OutboxNumber = OutboxNumber(rawValue: 0), run: UInt32 = 0,
    runToken: UInt32 = 0, bootID: UInt32? = nil, writtenBootID: UInt32? = nil
  ) {
    self.source = source
    self.lastID = lastID
    self.knownID = knownID
    self.lastNumber = lastNumber
    self.run = run
    self.runToken = runToken
    self.bootID = bootID
    self.writtenBootID = writtenBootID
  }
}

/// The whole content of a journal, from which an outbox starts after a crash.
package struct JournalContents: Hashable, Sendable {
  package var header: JournalHeader
  /// In the order of their numbers.
  package var entries: [OutboxEntry]
  /// In the order of their rows.
  package var keys: [KeyRecord]
  /// In the order in which they were written.
  package var presses: [TakenPresses] = []

  package init(header: JournalHeader, entries: [OutboxEntry] = [], keys: [KeyRecord] = []) {
    self.header = header
    self.entries = entries
    self.keys = keys
  }
}

/// One step of a commit. Either all steps of a commit are durable, or none.
package enum JournalChange: Hashable, Sendable {
  case header(JournalHeader)
  /// Adds an entry, or replaces the one of the same number.
  case put(OutboxEntry)
  case delete(OutboxNumber)
  /// Adds a key, or replaces the one of the same row.
  case putKey(KeyRecord)
  /// Deletes the key of this row.
  case deleteKey(Int64)
  /// Adds the highest taken press of a boot, or replaces it.
  case putPresses(TakenPresses)
  /// Deletes that of this boot.
  case deletePresses(UInt32)
}
