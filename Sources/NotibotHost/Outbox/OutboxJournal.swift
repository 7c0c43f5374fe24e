import DequeModule
import NotibotProtocol

/// Pending changes of the journal, and the effects that wait for them.
///
/// States: *idle* → a commit is taken → *committing* → confirmed → *idle*; a failed one leads to
/// *failed*, for good. Changes made meanwhile are collected. An entry is journaled in its state at
/// the time of the commit, so many changes of one entry become one; marks are numbered, so that it
/// is known which of them are durable.
struct OutboxJournal: Equatable, Sendable {
  /// The effect of a change once it is durable.
  enum Effect: Equatable {
    case report(OutboxReport)
    /// The source of the header is a new one.
    case renewed(UInt32)
    /// The header records a write in this boot.
    case bootNoted(UInt32)
    /// Presses are taken, in the order of their numbers.
    case pressesTaken([PendingPress])
  }

  /// A commit in progress.
  struct Commit: Equatable {
    /// Its entries, each with the first mark that it makes durable.
    var marks: [OutboxNumber: UInt64]
    var effects: [Effect]
  }

  enum State: Equatable {
    case idle
    case committing(Commit)
    case failed
  }

  /// Entries in one commit, at most, each with its keys. A change of source is one commit of any
  /// size, because half of it would be wrong.
  static let changesLimit = 1024

  private(set) var state = State.idle
  /// Marks so far.
  private(set) var marksCount: UInt64 = 0
  private var order = Deque<OutboxNumber>()
  /// Entries not taken into a commit, each with the first mark since it was.
  private var marked: [OutboxNumber: UInt64] = [:]
  private var effects: [OutboxNumber: [Effect]] = [:]
  /// New keys of entries that are not taken into a commit.
  private var keys: [OutboxNumber: [KeyRecord]] = [:]
  /// Rows of keys to be deleted.
  private var forgotten: [Int64] = []
  private var isHeaderMarked = false
  /// Of the header, and of answers about entries without a change.
  private var commonEffects: [Effect] = []
  private var takesAll = false
  /// Presses that no commit has taken yet. Source: PROTOCOL.md NTF-42.
  private var presses = PendingPresses()

  var isIdle: Bool { state == .idle && !hasMarks }

  private var hasMarks: Bool {
    isHeaderMarked || !order.isEmpty || !forgotten.isEmpty || !presses.isEmpty || !commonEffects.isEmpty
  }

  var hasFailed: Bool { state == .failed }

  // MARK: Marking

  /// The entry of this number was changed or removed.
  mutating func mark(_ number: OutboxNumber, then report: OutboxReport? = nil) {
    marksCount += 1
    if marked[number] == nil {
      marked[number] = marksCount
      order.append(number)
    }
    if let report { effects[number, default: []].append(.report(report)) }
  }

  /// The key of a submission whose entry is marked: both are in one commit.
  mutating func markKey(_ record: KeyRecord) {
    keys[record.number, default: []].append(record)
  }

  /// The keys in these rows are forgotten. Those are durable.
  mutating func markForgotten(_ rows: [Int64]) {
    forgotten += rows
  }

  /// Adds a report to the pending changes of an entry. Returns false if there are none: then all of
  /// the entry is durable.
  mutating func append(_ report: OutboxReport, toPending number: OutboxNumber) -> Bool {
    if marked[number] != nil {
      effects[number, default: []].append(.report(report))
      return true
    }
    guard case .committing(var commit) = state, commit.marks[number] != nil else { return false }
    commit.effects.append(.report(report))
    state = .committing(commit)
    return true
  }

  /// A report about something durable. It repeats a promise, so it waits for the next commit, if
  /// necessary one without changes, which makes sure that the journal is still there.
  mutating func markAnswer(_ report: OutboxReport) {
    commonEffects.append(.report(report))
  }

  mutating func markHeader() {
    isHeaderMarked = true
  }

  /// The header records a write in this boot.
  mutating func markBoot(_ bootID: UInt32) {
    isHeaderMarked = true
    commonEffects.append(.bootNoted(bootID))
  }

  /// The header has a new source, which is consistent only together with all earlier marks.
  mutating func markRenewal(source: UInt32) {
    isHeaderMarked = true
    takesAll = true
    commonEffects.append(.renewed(source))
  }

  /// A press is taken with the next commit, which is one about the notification, or an earlier one.
  mutating func mark(_ press: PendingPress, _ changes: [JournalChange]) {
    presses.append(press, changes)
  }

  /// The presses of this boot id are forgotten with the next commit.
  mutating func markForgotten(pressesOf bootID: UInt32) {
    presses.forget(bootID)
  }

  /// Whether a press that was taken is durable.
  func isDurable(press number: UInt32, in bootID: UInt32) -> Bool {
    if presses.contains(number, in: bootID) { return false }
    guard case .committing(let commit) = state else { return true }
    return !commit.effects.contains { effect in
      guard case .pressesTaken(let taken) = effect else { return false }
      return taken.contains { $0.press.number == number && $0.bootID == bootID }
    }
  }

  /// The presses that the commit in progress takes.
  var pressesInCommit: [PendingPress] {
    guard case .committing(let commit) = state else { return [] }
    return commit.effects.flatMap { effect -> [PendingPress] in
      guard case .pressesTaken(let taken) = effect else { return [] }
      return taken
    }
  }

  /// The notifications whose dismissal the commit in progress takes.
  var dismissalsInCommit: [OutboxNumber] {
    guard case .committing(let commit) = state else { return [] }
    return commit.effects.compactMap { effect in
      guard case .report(.gone(let number, .dismissed)) = effect else { return nil }
      return number
    }
  }

  /// Whether all marks of an entry up to the `mark`-th of all are durable.
  func isDurable(_ number: OutboxNumber, upTo mark: UInt64) -> Bool {
    if let first = marked[number], first <= mark { return false }
    if case .committing(let commit) = state, let first = commit.marks[number], first <= mark { return false }
    return true
  }

  // MARK: Committing

  /// The next commit, unless one is in progress or nothing is marked.
  mutating func nextCommit(of entries: OutboxEntries, header: JournalHeader) -> [JournalChange]? {
    guard state == .idle, hasMarks else { return nil }
    var changes = forgotten.map(JournalChange.deleteKey)
    forgotten = []
    var commit = Commit(marks: [:], effects: [])
    if isHeaderMarked {
      changes.append(.header(header))
      isHeaderMarked = false
    }
    commit.effects = commonEffects
    commonEffects = []
    if !presses.isEmpty {
      let taken = presses.drain()
      changes += taken.changes
      if !taken.presses.isEmpty { commit.effects.append(.pressesTaken(taken.presses)) }
    }
    let count = takesAll ? order.count : min(order.count, max(1, Self.changesLimit - changes.count))
    takesAll = false
    for _ in 0..<count {
      let number = order.removeFirst()
      commit.marks[number] = marked.removeValue(forKey: number)
      commit.effects += effects.removeValue(forKey: number) ?? []
      changes.append(entries[number].map { .put($0) } ?? .delete(number))
      changes += (keys.removeValue(forKey: number) ?? []).map(JournalChange.putKey)
    }
    state = .committing(commit)
    return changes
  }

  /// The commit in progress is durable. Returns the effects that can happen now; empty if none is
  /// in progress.
  mutating func confirm() -> [Effect] {
    switch state {
    case .idle, .failed: return []
    case .committing(let commit):
      state = .idle
      return commit.effects
    }
  }

  /// The commit in progress failed. Returns the effects that can no longer happen.
  mutating func fail() -> [Effect] {
    var lost = commonEffects
    switch state {
    case .idle: break
    case .committing(let commit): lost += commit.effects
    case .failed: return []
    }
    for number in order { lost += effects[number] ?? [] }
    self = OutboxJournal()
    state = .failed
    return lost
  }
}
