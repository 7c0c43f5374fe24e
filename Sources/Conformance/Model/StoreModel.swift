import SuiteWire

/// The state of a device, as far as the text of PROTOCOL.md determines it: a plain value that
/// random walks compare a device with. Where the text leaves a choice it returns several outcomes.
///
/// It is written from section 4 alone. Notifications of other writers are not modelled: `room` is
/// the rest of the capacity.
struct StoreModel: Sendable {
  /// Source: NTF-21.
  struct Key: Hashable, Sendable, CustomStringConvertible {
    var source: UInt32
    var id: UInt32

    var description: String { "(\(source), \(id))" }
  }

  /// Source: NTF-26.
  enum Reason: UInt8, Sendable {
    case dismissed = 1
    case evicted = 2
    case expired = 3
  }

  /// One event, or GONE instead of it.
  struct Report: Equatable, Sendable, CustomStringConvertible {
    var reason: Reason
    /// Nil for a notification without identity.
    var key: Key?
    /// Counted from the first one that the walk writes; nil if the device need not know it.
    var number: Int?

    var description: String {
      "\(reason) \(key.map { "\($0)" } ?? "without identity")\(number.map { " number \($0)" } ?? "")"
    }
  }

  /// A stored notification.
  struct Stored: Sendable {
    var key: Key?
    var draft: StoreWrite.Draft
    var number: Int
    var isHidden = false
  }

  /// Source: NTF-22.
  struct Writer: Equatable, Sendable {
    var source: UInt32
    var highest: UInt32 = 0
  }

  /// An allowed answer of a device to a write, and its state afterwards.
  struct Outcome: Sendable {
    /// The code of the Error Response; 0 for success.
    var code: UInt8
    var model: StoreModel
    /// The events that a subscriber must receive, once each.
    var reports: [Report] = []
    /// The events that a subscriber is also allowed to receive.
    var optional: [Report] = []
  }

  let room: Int
  let writersLimit: Int
  /// In the order in which they were accepted.
  private(set) var stored: [Stored] = []
  /// Ordered by the last write or sync, least recent first; source 0 is a writer that the walk does
  /// not use.
  private(set) var writers: [Writer]
  private(set) var gone: [Key: Report] = [:]
  /// Reported only because of a write (NTF-26).
  private(set) var unsure: Set<Key> = []
  private var acceptedCount = 0
  /// Seconds since 1970-01-01 UTC; nil if the device does not know.
  private(set) var time: UInt64?
  /// The source of the session.
  private(set) var source: UInt32?
  /// Whether RESYNC was sent, or must be by now, since the latest SYNC of the session.
  private(set) var resyncs = 0

  /// - Parameters:
  ///   - room: the number of notifications that the store accepts.
  ///   - writersLimit: how many writers are known at the same time; all places are taken by others.
  init(room: Int, writersLimit: Int) {
    self.room = room
    self.writersLimit = writersLimit
    writers = [Writer](repeating: Writer(source: 0), count: writersLimit)
  }

  /// The notifications that Count counts.
  var shown: [Stored] { stored.filter { !$0.isHidden } }

  /// The notifications of a writer, as n and digest count them (NTF-32).
  func held(_ source: UInt32) -> [Holding] {
    stored.compactMap { one in
      one.key.flatMap { $0.source == source ? Holding($0.id, one.draft.json) : nil }
    }
  }

  func highest(_ source: UInt32) -> UInt32 { writers.first { $0.source == source }?.highest ?? 0 }

  func stored(_ key: Key) -> Stored? { stored.first { $0.key == key } }

  // MARK: Sessions

  /// A session opens; notifications that expire with its CLOCK are not reported, because there is
  /// no subscription yet.
  mutating func open(source: UInt32?, time: UInt64?) {
    self.source = source
    resyncs = 0
    guard let time else { return }
    self.time = time
    for one in shown where isDue(one.draft) { _ = hide(one.number) }
  }

  /// A SYNC is received. Returns the events that must be reported before SYNCED, and those that are
  /// allowed.
  mutating func sync(_ source: UInt32) -> (reports: [Report], optional: [Report]) {
    self.source = source
    makePlace(for: source)
    resyncs = 0
    return (
      gone.values.filter { $0.key?.source == source },
      unsure.filter { $0.source == source }.map { Report(reason: .dismissed, key: $0) }
    )
  }

  /// Time passes. Returns the events that must be reported.
  mutating func wait(_ seconds: UInt64) -> [Report] {
    guard let time else { return [] }
    self.time = time + seconds
    return shown.filter { isDue($0.draft) }.compactMap { hide($0.number) }
  }

  // MARK: Actions of the user

  /// A shown notification is dismissed.
  mutating func dismiss(_ number: Int) -> [Report] { leave(number, .dismissed).map { [$0] } ?? [] }

  // MARK: Writes

  /// The possible outcomes of a write, each with another code.
  func outcomes(of write: StoreWrite) -> [Outcome] {
    switch write {
    case .refused(_, let code): return [Outcome(code: code, model: self)]
    case .plain(let draft): return storing(draft, nil)
    case .removal(_, let id, let source):
      guard let source = source ?? self.source else { return [Outcome(code: 0x80, model: self)] }
      return [removing(Key(source: source, id: id))]
    case .identified(let draft, let id, let source):
      guard let source = source ?? self.source else { return [Outcome(code: 0x80, model: self)] }
      let key = Key(source: source, id: id)
      return id > highest(source) ? storing(draft, key) : [changing(draft, key)]
    }
  }

  /// Source: NTF-24.
  private func removing(_ key: Key) -> Outcome {
    var model = self
    if knows(key.source) { model.use(key.source) }
    model.stored.removeAll { $0.key == key }
    model.gone[key] = nil
    model.unsure.remove(key)
    return Outcome(code: 0, model: model)
  }

  /// An id that is not above hwm. Source: NTF-23.
  private func changing(_ draft: StoreWrite.Draft, _ key: Key) -> Outcome {
    var model = self
    guard let index = stored.firstIndex(where: { $0.key == key }) else {
      model.use(key.source)
      if gone[key] == nil { model.unsure.insert(key) }
      return Outcome(
        code: 0, model: model, reports: [gone[key] ?? Report(reason: .dismissed, key: key)])
    }
    let old = stored[index]
    let known = gone[key].map { [$0] } ?? []
    let isSame = draft.revision == old.draft.revision && draft.json == old.draft.json
    guard draft.revision > old.draft.revision || isSame else {
      return Outcome(code: 0x81, model: self, optional: known)
    }
    model.use(key.source)
    model.stored[index].draft = draft
    if old.isHidden { return Outcome(code: 0, model: model, reports: known) }
    let report = isDue(draft) ? model.hide(old.number) : nil
    return Outcome(code: 0, model: model, reports: report.map { [$0] } ?? [])
  }

  /// Source: NTF-8, NTF-22, NTF-25, NTF-27.
  private func storing(_ draft: StoreWrite.Draft, _ key: Key?) -> [Outcome] {
    var model = self
    if let key { model.makePlace(for: key.source) }
    if model.stored.count < room { return [model.accepting(draft, key, [])] }
    let refused = Outcome(code: 0x11, model: self)
    let candidates = stored.filter { $0.key != nil && $0.draft.level < draft.level }
    guard let lowest = candidates.map(\.draft.level).min(),
      let victim = candidates.first(where: { $0.draft.level == lowest }),
      let report = model.leave(victim.number, .evicted)
    else { return [refused] }
    return [refused, model.accepting(draft, key, [report])]
  }

  private func accepting(_ draft: StoreWrite.Draft, _ key: Key?, _ reports: [Report]) -> Outcome {
    var model = self
    model.acceptedCount += 1
    let number = model.acceptedCount
    model.stored.append(Stored(key: key, draft: draft, number: number))
    if let key, let index = model.writers.firstIndex(where: { $0.source == key.source }) {
      model.writers[index].highest = key.id
    }
    let report = isDue(draft) ? model.hide(number) : nil
    return Outcome(code: 0, model: model, reports: reports + (report.map { [$0] } ?? []))
  }

  // MARK: Parts

  private func isDue(_ draft: StoreWrite.Draft) -> Bool {
    guard let time, let expires = draft.expires else { return false }
    return expires <= time
  }

  /// One has expired: it is forgotten, or hidden. Source: NTF-27.
  private mutating func hide(_ number: Int) -> Report? {
    guard let index = stored.firstIndex(where: { $0.number == number }) else { return nil }
    guard let key = stored[index].key else {
      stored.remove(at: index)
      return nil
    }
    stored[index].isHidden = true
    let report = Report(reason: .expired, key: key, number: number)
    gone[key] = report
    return report
  }

  /// One is removed from the store, and its writer must be notified. Source: NTF-25, NTF-26.
  private mutating func leave(_ number: Int, _ reason: Reason) -> Report? {
    guard let index = stored.firstIndex(where: { $0.number == number }) else { return nil }
    let report = Report(reason: reason, key: stored.remove(at: index).key, number: number)
    if let key = report.key { gone[key] = report }
    return report
  }

  private func knows(_ source: UInt32) -> Bool { writers.contains { $0.source == source } }

  /// Makes a writer the latest one. Source: NTF-22.
  private mutating func use(_ source: UInt32) {
    guard let index = writers.firstIndex(where: { $0.source == source }) else { return }
    writers.append(writers.remove(at: index))
  }

  /// Makes a writer known and the latest; if there is no room, the least recent one is forgotten
  /// with all its state.
  private mutating func makePlace(for source: UInt32) {
    guard !knows(source) else { return use(source) }
    if writers.count >= writersLimit {
      let victim = writers.removeFirst().source
      stored.removeAll { $0.key?.source == victim }
      gone = gone.filter { $0.key.source != victim }
      unsure = unsure.filter { $0.source != victim }
      if victim == self.source { resyncs += 1 }
    }
    writers.append(Writer(source: source))
  }
}
