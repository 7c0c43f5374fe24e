import NotibotHost
import NotibotProtocol
import SerialLink

/// The life of one journal until a bit of it is flipped, and the result of opening it then.
struct RotLife {
  /// The committed contents of a journal, without the number of openings.
  private struct Moment: Equatable {
    var entries: [Int64: OutboxEntry] = [:]
    var lastNumber: Int64 = 0
    var keys: [Int64: KeyRecord] = [:]
    var presses: [UInt32: TakenPresses] = [:]

    init() {}

    init(_ contents: JournalContents) {
      entries = Dictionary(uniqueKeysWithValues: contents.entries.map { ($0.number.rawValue, $0) })
      lastNumber = contents.header.lastNumber.rawValue
      keys = Dictionary(uniqueKeysWithValues: contents.keys.map { ($0.row, $0) })
      presses = Dictionary(uniqueKeysWithValues: contents.presses.map { ($0.bootID, $0) })
    }
  }

  private let seed: UInt64
  private var random: SeededGenerator
  private let disk: RotDisk
  private var committed = Moment()
  /// The commit in progress when everything ended: it can be there or not.
  private var underWay: Moment?
  /// Everything that was ever written to the journal: nothing else is allowed to be read from it.
  private var everQueued: Set<OutboxEntry> = []
  private var everKept: Set<KeyRecord> = []
  private var everTaken: Set<TakenPresses> = []
  private var commits = 0

  init(seed: UInt64) {
    self.seed = seed
    random = SeededGenerator(seed: seed)
    disk = RotDisk(seed: seed)
  }

  mutating func outcome() -> RotSimulation.Outcome {
    var outcome = RotSimulation.Outcome(
      seed: seed, access: .forwarding, result: .broken, detail: "", commits: 0)
    do {
      try live()
      outcome.commits = commits
      (outcome.file, outcome.bit) = rot()
      outcome.access = [.forwarding, .maintaining, .reading][Int.random(in: 0..<3, using: &random)]
      try open(&outcome)
    } catch {
      outcome.result = .broken
      outcome.detail = "\(error)"
    }
    return outcome
  }

  // MARK: Before

  private mutating func live() throws {
    // One in 32 writes so much that the log is checkpointed into the database in between.
    let isLong = seed % 32 == 0
    let livesCount = isLong ? 1 : Int.random(in: 1...4, using: &random)
    for _ in 0..<livesCount {
      let journal: Journal
      do {
        journal = try disk.open(.forwarding)
        let found = Moment(try journal.contents())
        guard found == committed || found == underWay else {
          throw Failure(.testFailed, "a crash has changed committed data")
        }
        committed = found
        underWay = nil
      } catch let error as JournalError {
        throw Failure(.testFailed, "a journal does not open after a crash: \(error)")
      }
      try commit(isLong ? 160 : Int.random(in: 0...14, using: &random), to: journal, isLong: isLong)
      end(journal)
    }
  }

  private mutating func commit(_ count: Int, to journal: Journal, isLong: Bool) throws {
    switch Int.random(in: 0..<8, using: &random) {
    case 0, 1: disk.fail(atSync: UInt64.random(in: 1...12, using: &random))
    case 2: disk.fail(atWrite: UInt64.random(in: 1...40, using: &random))
    case 3: disk.fill(atWrite: UInt64.random(in: 1...40, using: &random))
    case _: break
    }
    for _ in 0..<count {
      var next = committed
      let changes = draw(&next, isLong: isLong)
      commits += 1
      do {
        try journal.apply(changes)
        committed = next
      } catch {
        if error.code == .diskFull {
          // Nothing has changed, and there is room for the next one.
          disk.makeRoom()
          continue
        }
        underWay = next
        return
      }
    }
  }

  private mutating func draw(_ next: inout Moment, isLong: Bool) -> [JournalChange] {
    var changes: [JournalChange] = []
    for _ in 0...Int.random(in: 0...3, using: &random) {
      let numbers = next.entries.keys.sorted()
      let draw = Int.random(in: 0..<10, using: &random)
      if let number = numbers.randomElement(using: &random), draw < 5 {
        if draw == 0 {
          next.entries[number] = nil
          changes.append(.delete(OutboxNumber(rawValue: number)))
        } else if var entry = next.entries[number] {
          change(&entry)
          put(entry, &next, &changes)
        }
      } else {
        next.lastNumber += 1
        put(newEntry(number: next.lastNumber, isLong: isLong), &next, &changes)
      }
    }
    drawKeys(&next, &changes)
    drawPresses(&next, &changes)
    changes.append(
      .header(
        JournalHeader(
          source: 7, lastID: UInt32(next.lastNumber), lastNumber: OutboxNumber(rawValue: next.lastNumber))))
    return changes
  }

  /// Keys of their own, in half of the lives; now and then the oldest is forgotten.
  private mutating func drawKeys(_ next: inout Moment, _ changes: inout [JournalChange]) {
    guard seed % 2 == 0 else { return }
    if let oldest = next.keys.keys.min(), Int.random(in: 0..<4, using: &random) == 0 {
      next.keys[oldest] = nil
      changes.append(.deleteKey(oldest))
    }
    let length = Int.random(in: IdempotencyKey.lengthsBytes, using: &random)
    let bytes = (0..<length).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
    guard next.lastNumber > 0, let key = IdempotencyKey(bytes) else { return }
    let time = Int64.random(in: 0...4_000_000_000, using: &random)
    let record = KeyRecord(
      row: (next.keys.keys.max() ?? 0) + 1, key: key, number: OutboxNumber(rawValue: next.lastNumber),
      digest: Int64.random(in: .min ... .max, using: &random), submittedAt: time, keepUntil: time + 86_400)
    next.keys[record.row] = record
    everKept.insert(record)
    changes.append(.putKey(record))
  }

  /// Presses of a few boots, in a third of the lives.
  private mutating func drawPresses(_ next: inout Moment, _ changes: inout [JournalChange]) {
    guard seed % 3 == 0, Bool.random(using: &random) else { return }
    let bootID = UInt32.random(in: 0x8000_0000...0x8000_0003, using: &random)
    if next.presses[bootID] != nil, Int.random(in: 0..<4, using: &random) == 0 {
      next.presses[bootID] = nil
      return changes.append(.deletePresses(bootID))
    }
    let record = TakenPresses(bootID: bootID, press: (next.presses[bootID]?.press ?? 0) + 1)
    next.presses[bootID] = record
    everTaken.insert(record)
    changes.append(.putPresses(record))
  }

  private mutating func put(_ entry: OutboxEntry, _ next: inout Moment, _ changes: inout [JournalChange]) {
    next.entries[entry.number.rawValue] = entry
    everQueued.insert(entry)
    changes.append(.put(entry))
  }

  private mutating func newEntry(number: Int64, isLong: Bool) -> OutboxEntry {
    let isLarge = isLong || Int.random(in: 0..<16, using: &random) == 0
    let length =
      isLarge ? Int.random(in: 5_000...30_000, using: &random) : Int.random(in: 0...300, using: &random)
    let content = DisplayNotification(
      app: "Messages", title: "Jane Doe \(number)", text: String(repeating: "See you. ", count: length / 9),
      timestamp: UInt32.random(in: 0 ... .max, using: &random))
    return OutboxEntry(number: OutboxNumber(rawValue: number), content: content)
  }

  private mutating func change(_ entry: inout OutboxEntry) {
    let id = UInt32(truncatingIfNeeded: entry.number.rawValue)
    let revision = UInt16.random(in: 0...9, using: &random)
    let write = OutboxWrite(
      id: id, revision: revision, json: Array(#"{"id":\#(id),"rev":\#(revision)}"#.utf8))
    switch Int.random(in: 0..<4, using: &random) {
    case 0: entry.state = .written(write)
    case 1:
      entry.state = .held(write)
      entry.isReported = true
    case 2: entry.state = .removing(id: id)
    case _: entry.content.title += "!"
    }
  }

  private mutating func end(_ journal: Journal) {
    switch Int.random(in: 0..<(underWay == nil ? 3 : 1), using: &random) {
    case 0:
      disk.losePower()
      journal.close()
    case 1:
      disk.kill()
      journal.close()
    case _:
      disk.makeRoom()
      disk.fail(atSync: 0)
      journal.close()
    }
  }

  // MARK: The bit

  /// Flips one bit of an existing file; none in one of eight runs.
  private mutating func rot() -> (RotDisk.File?, UInt64?) {
    guard Int.random(in: 0..<8, using: &random) > 0,
      let file = RotDisk.File.allCases.filter({ disk.length(of: $0) > 0 }).randomElement(using: &random)
    else { return (nil, nil) }
    // Headers are short, and the most critical part.
    let length = disk.length(of: file)
    let header: UInt64 = file == .log ? 32 : 100
    let isHeader = Int.random(in: 0..<4, using: &random) == 0
    let bit = UInt64.random(in: 0..<(isHeader ? min(header, length) : length) * 8, using: &random)
    disk.flip(bit: bit, of: file)
    return (file, bit)
  }

  // MARK: After

  private func open(_ outcome: inout RotSimulation.Outcome) throws {
    let before = RotDisk.File.allCases.map { disk.bytes(of: $0) }
    do {
      let journal = try disk.open(outcome.access)
      let found = Moment(try journal.contents())
      journal.close()
      guard found == committed || found == underWay else {
        throw Failure(
          .testFailed,
          """
          \(found.entries.count) notifications and \(found.keys.count) keys where \
          \(committed.entries.count) and \(committed.keys.count) were committed
          """)
      }
      outcome.result = .equal
    } catch let error as JournalError {
      outcome.detail = error.reason
      guard outcome.file != nil else { throw Failure(.testFailed, "refused without corruption: \(error)") }
      switch error.code {
      case .corrupt, .inputOutput: break
      case .missing, .directoryMissing, .badPath, .helperIsOther, .helperDenied, .displaced, .locked,
        .permissionDenied, .readOnly, .diskFull, .notAnOutbox, .tooNew, .closed:
        throw Failure(.testFailed, "refused, but not as damaged: \(error)")
      }
      guard RotDisk.File.allCases.map({ disk.bytes(of: $0) }) == before else {
        throw Failure(.testFailed, "refused as damaged, and changed")
      }
      try salvage(&outcome)
      outcome.result = .detected
    }
  }

  private func salvage(_ outcome: inout RotSimulation.Outcome) throws {
    let before = RotDisk.File.allCases.map { disk.bytes(of: $0) }
    let salvage = try disk.salvage()
    guard RotDisk.File.allCases.map({ disk.bytes(of: $0) }) == before else {
      throw Failure(.testFailed, "changed by the salvage")
    }
    for entry in salvage.entries where !everQueued.contains(entry) {
      throw Failure(
        .testFailed, "notification \(entry.number.rawValue) was salvaged with contents that it never had")
    }
    for record in salvage.keys where !everKept.contains(record) {
      throw Failure(.testFailed, "key \(record.row) was salvaged with contents that it never had")
    }
    for record in salvage.presses where !everTaken.contains(record) {
      throw Failure(.testFailed, "press \(record.press) was salvaged, which was never taken")
    }
    let found = Dictionary(uniqueKeysWithValues: salvage.entries.map { ($0.number.rawValue, $0) })
    guard !salvage.isComplete || found == committed.entries || found == underWay?.entries else {
      throw Failure(.testFailed, "the salvage claims to be complete, and is not")
    }
    outcome.isSalvageComplete = salvage.isComplete
    outcome.refusedEntries = committed.entries.count
    outcome.salvagedEntries = committed.entries.count { found[$0.key] == $0.value }
  }
}
