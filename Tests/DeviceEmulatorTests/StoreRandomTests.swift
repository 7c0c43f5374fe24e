import NotibotProtocol
import Testing

@testable import DeviceEmulator

/// Thousands of random operations on a small store; its counters must match its contents.
struct StoreRandomTests {
  @Test(arguments: UInt64(1)...6)
  func `n, digest and count match the contents after any operations`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var store = NotificationStore.make(capacity: 12)
    store.display = DisplayLog()
    var shown: Set<Int> = []
    var now: UInt32 = 0
    for step in 0..<500 {
      let source = UInt32.random(in: 1...6, using: &generator)
      let id = Int.random(in: 1...40, using: &generator)
      switch Int.random(in: 0..<20, using: &generator) {
      case 0..<12:
        let tail = randomTail(after: now, using: &generator)
        _ = store.write(identified(id: id, tail: tail), by: .of(source: source))
      case 12, 13: _ = store.write(Array(sampleJSON.utf8), by: .of(source: source))
      case 14, 15:
        _ = store.write(WrittenNotification.removal(of: UInt32(id)).encoded(), by: .of(source: source))
      case 16: store.sync(source)
      case 17: _ = store.dismiss(item: store.items.randomElement(using: &generator)?.item ?? 0)
      case 18:
        now += 5
        while store.expireNext(at: now) {}
      default: if step % 50 == 0 { store.removeAll() }
      }
      follow(store.drainDisplayChanges(), in: &shown)
      #expect(store.drainEvents().count <= GoneList.limit + WriterRecords.limit, "seed \(seed), step \(step)")
      check(store, shown: shown, now: now, "seed \(seed), step \(step)")
    }
  }

  /// Recalculates everything that is counted.
  private func check(_ store: NotificationStore, shown: Set<Int>, now: UInt32, _ place: Comment) {
    let visible = store.items.filter { !$0.hasExpired }
    #expect(shown == Set(visible.map(\.item)), place)
    #expect(store.storedCount == visible.count, place)
    #expect(store.items.count <= store.capacity, place)
    #expect(store.nextExpiry == visible.compactMap(\.expires).min(), place)
    #expect(store.writers.records.count <= WriterRecords.limit, place)
    #expect(store.gone.notices.count <= GoneList.limit, place)
    for record in store.writers.records {
      var holdings = Holdings()
      let own = store.items.compactMap(\.identity).filter { $0.key.source == record.source }
      for identity in own { holdings.insert(id: identity.key.id, crc: identity.crc) }
      #expect(record.holdings == holdings, place)
      #expect(record.items.count == own.count, place)
      #expect(own.allSatisfy { $0.key.id <= record.highestID }, place)
    }
    let known = Set(store.writers.records.map(\.source))
    #expect(store.items.compactMap(\.identity).allSatisfy { known.contains($0.key.source) }, place)
    #expect(store.gone.notices.allSatisfy { known.contains($0.key.source) }, place)
    #expect(store.items.map(\.item) == store.items.map(\.item).sorted(), place)
  }

  private func follow(_ changes: [DisplayChange], in shown: inout Set<Int>) {
    for change in changes {
      switch change {
      case .shown(let subject, _): #expect(shown.insert(subject.item).inserted, "shown twice")
      case .replaced(let subject, _): #expect(shown.contains(subject.item))
      case .removed(let subject, _): #expect(shown.remove(subject.item) != nil, "removed twice")
      case .restarted: shown = []
      }
    }
  }

  private func randomTail(after now: UInt32, using generator: inout SeededGenerator) -> String {
    var tail = #","rev":\#(Int.random(in: 0...3, using: &generator))"#
    if Bool.random(using: &generator) { tail += #","ev":"m""# }
    tail += #","lvl":\#(Int.random(in: 0...3, using: &generator))"#
    if Bool.random(using: &generator) {
      tail += #","exp":\#(now + UInt32.random(in: 0...20, using: &generator))"#
    }
    return tail
  }
}
