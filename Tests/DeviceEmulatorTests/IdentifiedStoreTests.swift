import NotibotProtocol
import Testing

@testable import DeviceEmulator

/// Notifications with an identity in the store. Source: PROTOCOL.md NTF-20 to NTF-28.
struct IdentifiedStoreTests {
  // MARK: NTF-21 to NTF-24

  @Test func `an id above hwm is stored and moves hwm`() {
    var store = NotificationStore.make()
    #expect(store.write(id: 3) == .stored(item: 1))
    #expect(store.write(id: 9) == .stored(item: 2))
    #expect(store.writers.highestID(of: homeSource) == 9)
    #expect(store.items.map(\.identity?.key.id) == [3, 9])
    #expect(store.items.map(\.identity?.key.source) == [homeSource, homeSource])
  }

  @Test func `repeating the same bytes is a success that stores nothing`() {
    var store = NotificationStore.make()
    _ = store.write(id: 1)
    #expect(store.write(id: 1) == .unchanged)
    #expect(store.count == 1)
    #expect(store.drainEvents().isEmpty)
  }

  @Test func `other bytes of the same revision are a conflict that changes nothing`() {
    var store = NotificationStore.make()
    _ = store.write(id: 1)
    let before = store
    #expect(store.write(id: 1, text: "other") == .conflict)
    #expect(store == before)
  }

  @Test func `a higher revision replaces the stored one and keeps its number`() {
    var store = NotificationStore.make()
    _ = store.write(id: 1)
    _ = store.write(id: 2)
    #expect(store.write(id: 1, text: "new", tail: #","rev":7"#) == .replaced(item: 1))
    #expect(store.items.map(\.item) == [1, 2])
    #expect(store.items.first?.json == identified(id: 1, text: "new", tail: #","rev":7"#))
    #expect(store.count == 2)
    #expect(store.writers.highestID(of: homeSource) == 2)
  }

  @Test func `a lower revision is a conflict that changes nothing, whatever its bytes`() {
    var store = NotificationStore.make()
    _ = store.write(id: 1, tail: #","rev":65535"#)
    let before = store
    #expect(store.write(id: 1, text: "old", tail: #","rev":65534"#) == .conflict)
    #expect(store == before)
  }

  @Test func `an id not above hwm that is not stored is reported as gone and not stored`() {
    var store = NotificationStore.make()
    _ = store.write(id: 5)
    #expect(store.write(id: 4) == .unchanged)
    #expect(store.count == 1)
    let notice = GoneNotice(reason: .dismissed, key: .init(source: homeSource, id: 4), item: 0)
    #expect(store.drainEvents() == [.stillGone(notice)])
  }

  @Test func `a removal succeeds whether or not there is something to remove, and leaves hwm`() {
    var store = NotificationStore.make()
    _ = store.write(id: 5)
    #expect(store.write(WrittenNotification.removal(of: 5).encoded(), by: .home) == .removed)
    #expect(store.count == 0)
    #expect(store.writers.highestID(of: homeSource) == 5)
    #expect(store.writers.holdings(of: homeSource) == Holdings())
    #expect(store.write(WrittenNotification.removal(of: 5).encoded(), by: .home) == .unchanged)
    #expect(store.write(WrittenNotification.removal(of: 99).encoded(), by: .home) == .unchanged)
    #expect(store.writers.highestID(of: homeSource) == 5)
  }

  @Test
  func `the key src takes precedence over the session's source, and without either the write is invalid`() {
    var store = NotificationStore.make()
    var nobody = NotificationStore.Writer.home
    nobody.source = nil
    let named = identified(id: 1, tail: #","src":77"#)
    #expect(store.write(named, by: .home) == .stored(item: 1))
    #expect(store.write(named, by: nobody) == .unchanged)
    #expect(store.items.first?.identity?.key == NotificationKey(source: 77, id: 1))
    guard case .invalid = store.write(identified(id: 2), by: nobody) else {
      return #expect(Bool(false), "a notification without a writer was accepted")
    }
  }

  @Test func `without feature bit 1 the keys are ignored`() {
    var store = NotificationStore.make()
    #expect(store.write(identified(id: 1)) == .stored(item: 1))
    #expect(store.write(identified(id: 1)) == .stored(item: 2))
    #expect(store.items.map(\.identity) == [nil, nil])
    #expect(store.writers.records.isEmpty)
  }

  @Test func `two writers have separate ids`() {
    var store = NotificationStore.make()
    _ = store.write(id: 5)
    #expect(store.write(id: 1, tail: #","src":77"#) == .stored(item: 2))
    #expect(store.write(id: 1) == .unchanged)
    #expect(store.writers.highestID(of: 77) == 1)
  }

  // MARK: NTF-22

  @Test func `the fifth writer replaces the one that wrote or synced least recently`() {
    var store = NotificationStore.make()
    for source in 1...4 { _ = store.write(id: 1, tail: #","src":\#(source)"#) }
    _ = store.write(id: 1, tail: #","src":1"#)
    store.sync(2)
    _ = store.write(WrittenNotification.removal(of: 9).encoded(), by: .of(source: 3))
    #expect(store.write(id: 1, tail: #","src":5"#) == .stored(item: 5))
    #expect(store.writers.records.map(\.source) == [1, 2, 3, 5])
    #expect(store.items.map(\.identity?.key.source) == [1, 2, 3, 5])
    #expect(store.drainEvents().contains(.writerForgotten(source: 4)))
    #expect(store.count == 4)
  }

  @Test func `gone notifications are forgotten with their writer`() {
    var store = NotificationStore.make()
    for source in 1...4 { _ = store.write(id: 1, tail: #","src":\#(source)"#) }
    _ = store.dismiss(item: 1)
    store.sync(5)
    #expect(store.gone.notices.isEmpty)
    #expect(store.count == 3)
  }

  @Test func `a refused write of a fifth writer forgets no other writer`() {
    var store = NotificationStore.make(capacity: 3)
    for source in 2...4 { _ = store.write(id: 1, tail: #","src":\#(source)"#) }
    store.sync(1)
    for source in 2...4 { store.sync(UInt32(source)) }
    let before = store
    #expect(store.write(id: 1, tail: #","src":5"#) == .full)
    #expect(store == before)
  }

  @Test func `a full store has room for a fifth writer if the forgotten one had a notification`() {
    var store = NotificationStore.make(capacity: 4)
    for source in 1...4 { _ = store.write(id: 1, tail: #","src":\#(source)"#) }
    #expect(store.write(id: 1, tail: #","src":5"#) == .stored(item: 5))
    #expect(store.items.map(\.identity?.key.source) == [2, 3, 4, 5])
  }

  // MARK: NTF-25

  @Test func `a full store evicts the oldest of the lowest level below the new one's`() {
    var store = NotificationStore.make(capacity: 4)
    _ = store.write(id: 1, tail: #","lvl":2"#)
    _ = store.write(id: 2, tail: #","lvl":0"#)
    _ = store.write(id: 3, tail: #","lvl":0"#)
    _ = store.write(id: 4)
    #expect(store.write(id: 5) == .stored(item: 5))
    #expect(store.items.map(\.item) == [1, 3, 4, 5])
    let notice = GoneNotice(reason: .evicted, key: .init(source: homeSource, id: 2), item: 2)
    #expect(store.drainEvents() == [.gone(notice)])
    #expect(store.writers.holdings(of: homeSource).count == 4)
    #expect(store.write(id: 6, tail: #","lvl":0"#) == .full)
    #expect(store.write(id: 6, tail: #","lvl":3"#) == .stored(item: 6))
    #expect(store.items.map(\.item) == [1, 4, 5, 6])
  }

  @Test func `one without identity is not evicted, and a refused id can be written under the same hwm`() {
    var store = NotificationStore.make(capacity: 1)
    _ = store.write(Array(sampleJSON.utf8), by: .home)
    #expect(store.write(id: 1, tail: #","lvl":3"#) == .full)
    #expect(store.writers.highestID(of: homeSource) == nil)
    #expect(store.drainEvents().isEmpty)
  }

  @Test func `one without identity evicts one of a lower level`() {
    var store = NotificationStore.make(capacity: 1)
    _ = store.write(id: 1, tail: #","lvl":0"#)
    #expect(store.write(Array(sampleJSON.utf8), by: .home) == .stored(item: 2))
    #expect(store.items.map(\.item) == [2])
  }

  @Test func `a change of the level counts for the next eviction`() {
    var store = NotificationStore.make(capacity: 2)
    _ = store.write(id: 1, tail: #","lvl":0"#)
    _ = store.write(id: 2, tail: #","lvl":0"#)
    _ = store.write(id: 1, tail: #","rev":1,"ev":"m","lvl":3"#)
    #expect(store.write(id: 3, tail: #","lvl":2"#) == .stored(item: 3))
    #expect(store.items.map(\.item) == [1, 3])
    #expect(store.write(id: 4, tail: #","lvl":2"#) == .full)
  }

  // MARK: NTF-27

  @Test func `an expired one is hidden, not counted, reported, and stays in n and digest`() {
    var store = NotificationStore.make()
    _ = store.write(id: 1, tail: #","exp":1000"#)
    _ = store.write(id: 2, tail: #","exp":999"#)
    let holdings = store.writers.holdings(of: homeSource)
    #expect(store.nextExpiry == 999)
    #expect(store.expireNext(at: 998) == false)
    #expect(store.expireNext(at: 999) == true)
    #expect(store.expireNext(at: 999) == false)
    #expect(store.count == 1)
    #expect(store.holds(item: 2) == false)
    #expect(store.dismiss(item: 2) == false)
    #expect(store.writers.holdings(of: homeSource) == holdings)
    let notice = GoneNotice(reason: .expired, key: .init(source: homeSource, id: 2), item: 2)
    #expect(store.drainEvents() == [.gone(notice)])
    #expect(store.nextExpiry == 1000)
    #expect(store.write(WrittenNotification.removal(of: 2).encoded(), by: .home) == .removed)
    #expect(store.writers.holdings(of: homeSource).count == 1)
    #expect(store.count == 1)
    #expect(store.gone.notices.isEmpty)
  }

  @Test func `an expired one stays hidden when it is changed, and its writer is notified again`() {
    var store = NotificationStore.make()
    _ = store.write(id: 1, tail: #","exp":10"#)
    _ = store.expireNext(at: 10)
    _ = store.drainEvents()
    let notice = GoneNotice(reason: .expired, key: .init(source: homeSource, id: 1), item: 1)
    #expect(store.write(id: 1, tail: #","rev":1,"exp":99"#) == .replaced(item: 1))
    #expect(store.drainEvents() == [.stillGone(notice)])
    #expect(store.count == 0)
    #expect(store.nextExpiry == nil)
    #expect(store.write(id: 1, tail: #","rev":1,"exp":99"#) == .unchanged)
    #expect(store.drainEvents() == [.stillGone(notice)])
  }

  @Test func `an expired one without identity is forgotten`() {
    var store = NotificationStore.make()
    let json = #"{"app":"","title":"","text":"","timestamp":1,"exp":10}"#
    _ = store.write(Array(json.utf8), by: .home)
    #expect(store.expireNext(at: 10) == true)
    #expect(store.items.isEmpty)
    #expect(store.drainEvents().isEmpty)
  }

  @Test func `a removed one does not expire, and a changed one expires according to its change`() {
    var store = NotificationStore.make()
    _ = store.write(id: 1, tail: #","exp":10"#)
    _ = store.write(id: 2, tail: #","exp":10"#)
    _ = store.write(id: 1, tail: #","rev":1,"exp":20"#)
    _ = store.write(WrittenNotification.removal(of: 2).encoded(), by: .home)
    #expect(store.nextExpiry == 20)
    #expect(store.expireNext(at: 19) == false)
  }

  // MARK: NTF-26, NTF-28

  @Test func `64 gone notifications are remembered, the 65th replaces the oldest`() {
    var store = NotificationStore.make()
    for id in 1...65 { _ = store.write(id: id) }
    for item in 1...64 { _ = store.dismiss(item: item) }
    #expect(store.drainEvents().contains(.writerForgotten(source: homeSource)) == false)
    _ = store.dismiss(item: 65)
    #expect(store.gone.notices.map(\.key.id) == Array(2...65))
    #expect(store.drainEvents().contains(.writerForgotten(source: homeSource)))
  }

  @Test func `a forgotten one is reported as dismissed, and replaces no other`() {
    var store = NotificationStore.make()
    for id in 1...65 { _ = store.write(id: id) }
    for item in 1...65 { _ = store.dismiss(item: item) }
    _ = store.drainEvents()
    _ = store.write(id: 1)
    let notice = GoneNotice(reason: .dismissed, key: .init(source: homeSource, id: 1), item: 0)
    #expect(store.drainEvents() == [.stillGone(notice)])
    #expect(store.gone.notices.map(\.key.id) == Array(2...65))
  }

  @Test func `clearing notifies every writer, and keeps hidden ones in n`() {
    var store = NotificationStore.make()
    _ = store.write(id: 1, tail: #","exp":10"#)
    _ = store.write(id: 2)
    _ = store.write(Array(sampleJSON.utf8), by: .home)
    _ = store.expireNext(at: 10)
    _ = store.drainEvents()
    store.removeAll()
    let notice = GoneNotice(reason: .dismissed, key: .init(source: homeSource, id: 2), item: 2)
    #expect(store.drainEvents() == [.gone(notice)])
    #expect(store.count == 0)
    #expect(store.writers.holdings(of: homeSource).count == 1)
  }

  @Test func `one that the host knew to be there is shown without an announcement`() {
    var store = NotificationStore.make()
    store.display = DisplayLog()
    var writer = NotificationStore.Writer.home
    writer.knownID = 2
    for id in 1...3 { _ = store.write(identified(id: id), by: writer) }
    _ = store.write(identified(id: 1, tail: #","src":77"#), by: writer)
    _ = store.write(Array(sampleJSON.utf8), by: writer)
    #expect(store.items.map(\.isPreExisting) == [true, true, false, false, false])
    #expect(store.drainDisplayChanges().map(\.isAnnounced) == [false, false, true, true, true])
  }

  @Test func `the display's changes are complete, in order, once each`() {
    var store = NotificationStore.make(capacity: 2)
    store.display = DisplayLog()
    _ = store.write(id: 1, tail: #","lvl":0"#)
    _ = store.write(id: 1, tail: #","lvl":0"#)
    _ = store.write(id: 1, tail: #","rev":1,"lvl":0"#)
    _ = store.write(id: 1, tail: #","rev":2,"ev":"m","lvl":0"#)
    _ = store.write(id: 2, tail: #","exp":5"#)
    _ = store.write(id: 3)
    _ = store.expireNext(at: 5)
    _ = store.dismiss(item: 3)
    _ = store.write(WrittenNotification.removal(of: 2).encoded(), by: .home)
    #expect(
      store.drainDisplayChanges().map(\.sketch) == [
        "shown 1.0 announced", "replaced 1.1 announced", "replaced 1.2", "shown 2.0 announced",
        "removed 1.2 evicted", "shown 3.0 announced", "removed 2.0 expired", "removed 3.0 dismissed",
      ])
    #expect(store.drainDisplayChanges().isEmpty)
  }

  // MARK: NTF-32

  @Test func `n and digest are those of the stored notifications`() {
    var store = NotificationStore.make()
    let empty = store.writers.holdings(of: homeSource)
    #expect(empty == Holdings())
    _ = store.write(id: 1)
    // CRC-32 from Python's zlib, splitmix64 by hand in Python.
    #expect(store.writers.holdings(of: homeSource) == Holdings(count: 1, digest: 0x6626_62F7_0BA6_C3C5))
    _ = store.write(id: 2)
    _ = store.dismiss(item: 2)
    #expect(store.writers.holdings(of: homeSource) == Holdings(count: 1, digest: 0x6626_62F7_0BA6_C3C5))
  }

  @Test func `a store that only remembers the last keeps the others in n and digest`() {
    var store = NotificationStore(capacity: 65_535, policy: .remember(kept: 2))
    var all = Holdings()
    for id in 1...5 {
      _ = store.write(id: id)
      all.insert(id: UInt32(id), crc: CRC32.checksum(identified(id: id)))
    }
    #expect(store.writers.holdings(of: homeSource) == all)
    #expect(store.count == 5)
    #expect(store.write(id: 5) == .unchanged)
    #expect(store.drainEvents().isEmpty)
  }
}
