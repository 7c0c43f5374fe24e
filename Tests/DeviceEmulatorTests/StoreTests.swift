import NotibotProtocol
import Testing

@testable import DeviceEmulator

/// What no connection shows of a store: the display's changes, the device's list, and a store that
/// only remembers. The rules of the wire are checked by the suite.
struct StoreTests {
  @Test func `notices and events beyond the limit are dropped, and the host is asked for a SYNC`() {
    var bearer = ATTBearer(id: .serial, features: [.sync])
    bearer.setCCCD(of: .data, to: 1)
    let key = { NotificationKey(source: 5, id: $0) }
    let queued = (1...128).map { bearer.queue(GoneNotice(reason: .dismissed, key: key($0), item: 0)) }
    #expect(!queued.contains(false) && bearer.pendingResync == .none)
    let again = bearer.queue(GoneNotice(reason: .expired, key: key(2), item: 0))
    #expect(again && bearer.notices.count == 128)
    let beyond = bearer.queue(GoneNotice(reason: .dismissed, key: key(129), item: 0))
    #expect(!beyond && bearer.notices.count == 128 && bearer.pendingResync == .due)
    bearer.settle(key(2))
    #expect(bearer.notices.map(\.key.id) == [1] + Array(3...128))
    let (fits, isTooLong) = (
      bearer.queue(event: Array(repeating: 1, count: 20)),
      !bearer.queue(event: Array(repeating: 1, count: 21))
    )
    #expect(fits && isTooLong)
  }

  @Test func `dismissing finds each one exactly once`() {
    var store = NotificationStore.make()
    for id in 1...20 { _ = store.write(id: id) }
    for item in [20, 1, 10, 11, 9] {
      #expect(store.dismiss(item: item) == true)
      #expect(store.dismiss(item: item) == false)
    }
    for item in [0, 21, .max, .min] { #expect(store.dismiss(item: item) == false) }
    #expect(store.count == 15)
  }

  @Test func `an expired one leaves the display once, also when its writer is forgotten`() {
    var store = NotificationStore.make()
    store.display = DisplayLog()
    _ = store.write(id: 1, tail: #","src":1,"exp":5"#)
    for source in 2...4 { _ = store.write(id: 1, tail: #","src":\#(source)"#) }
    _ = store.expireNext(at: 5)
    store.sync(5)
    #expect(
      store.drainDisplayChanges().map(\.sketch).filter { $0.hasPrefix("removed") } == ["removed 1.0 expired"])
  }

  @Test func `a restart forgets writers, gone notifications, and the time`() {
    var rig = SyncRig()
    rig.rig.device.recordsDisplay = true
    rig.open(source: homeSource, clock: 1000)
    for id in 1...2 { _ = rig.write(identified(id: id, tail: #","exp":2000"#)) }
    _ = rig.perform(.dismiss(1))
    _ = rig.perform(.reboot(.brownout))
    _ = rig.advance(by: .seconds(1))
    #expect(rig.device.store.items.isEmpty)
    #expect(rig.device.store.gone.notices.isEmpty)
    #expect(rig.device.store.writers.records.isEmpty)
    rig.open(source: homeSource)
    #expect(rig.sync() == ["SYNCED n=0 hwm=0"])
    #expect(rig.write(identified(id: 1, tail: #","exp":1"#)) == ["13"])
    #expect(rig.device.store.count == 1)
    let changes = rig.rig.device.drainDisplayChanges().map(\.sketch)
    #expect(
      changes == [
        "shown 1.0 announced", "shown 2.0 announced", "removed 1.0 dismissed", "restarted",
        "shown 1.0 announced",
      ])
  }

  @Test func `the display's changes are not kept unless requested`() {
    var rig = SyncRig()
    rig.open(source: homeSource)
    _ = rig.write(identified(id: 1))
    #expect(rig.rig.device.drainDisplayChanges().isEmpty)
  }

  @Test func `notifications that the host knows according to SYNC are shown without an announcement`() {
    var rig = SyncRig()
    rig.rig.device.recordsDisplay = true
    rig.open(source: homeSource)
    _ = rig.sync(known: 1)
    for id in 1...2 { _ = rig.write(identified(id: id)) }
    #expect(rig.rig.device.drainDisplayChanges().map(\.sketch) == ["shown 1.0", "shown 2.0 announced"])
    rig.open(source: homeSource)
    _ = rig.write(identified(id: 3))
    #expect(rig.device.store.items.map(\.isPreExisting) == [true, false, false])
  }

  @Test func `the list shows the identity of a notification`() throws {
    var rig = SyncRig()
    rig.open(source: homeSource)
    _ = rig.sync(known: 1)
    _ = rig.write(identified(id: 1, tail: #","rev":3,"lvl":2"#))
    _ = rig.write(Array(sampleJSON.utf8))
    let items = try #require(ControlReply(rig.rig.perform(.list(from: nil))).items)
    #expect(items.map(\.id) == [1, nil])
    #expect(items.map(\.src) == [homeSource, nil])
    #expect(items.map(\.rev) == [3, nil])
    #expect(items.map(\.lvl) == [2, nil])
    #expect(items.map(\.preexisting) == [true, nil])
    #expect(items.map(\.expired) == [nil, nil])
  }

  @Test(arguments: [Int64.min, -1, .max])
  func `a clock outside the range of exp does no harm`(seconds: Int64) {
    var rig = SyncRig()
    rig.open(source: homeSource, clock: seconds)
    _ = rig.write(identified(id: 1, tail: #","exp":4294967295"#))
    #expect(rig.device.store.count == (seconds > 0 ? 0 : 1))
    _ = rig.advance(by: .seconds(3))
    #expect(rig.device.store.items.count == 1)
  }

  @Test func `a store that only remembers counts every one and keeps the last`() {
    let sample = Array(sampleJSON.utf8)
    var store = NotificationStore(capacity: 65_535, policy: .remember(kept: 3))
    for _ in 0..<70_000 { _ = store.write(sample) }
    #expect(store.items.map(\.item) == [69_998, 69_999, 70_000])
    #expect(store.storedCount == 70_000)
    #expect(store.count == 65_535)
    #expect(store.dismiss(item: 1) == false)
  }
}

/// The writer of most tests.
let homeSource: UInt32 = 0xC0FF_EE01

/// A notification with an identity; other keys come between `id` and the end.
func identified(id: Int, text: String = "", tail: String = "") -> [UInt8] {
  Array(#"{"app":"","title":"","text":"\#(text)","timestamp":1,"id":\#(id)\#(tail)}"#.utf8)
}

extension NotificationStore.Writer {
  static let home = of(source: homeSource)

  static func of(source: UInt32) -> Self {
    var writer = Self()
    writer.keys = .all
    writer.source = source
    return writer
  }
}

extension NotificationStore {
  static func make(capacity: Int = 100) -> Self {
    NotificationStore(capacity: capacity, policy: .refuseWhenFull)
  }

  mutating func write(id: Int, text: String = "", tail: String = "") -> WriteOutcome {
    write(identified(id: id, text: text, tail: tail), by: .home)
  }
}

extension DisplayChange {
  var isAnnounced: Bool {
    switch self {
    case .shown(_, let isAnnounced), .replaced(_, let isAnnounced): isAnnounced
    case .removed, .restarted: false
    }
  }

  /// The change with `id.rev` in words.
  var sketch: String {
    let announced = isAnnounced ? " announced" : ""
    return switch self {
    case .shown(let subject, _): "shown \(subject.name)\(announced)"
    case .replaced(let subject, _): "replaced \(subject.name)\(announced)"
    case .removed(let subject, let reason): "removed \(subject.name) \(reason)"
    case .restarted: "restarted"
    }
  }
}

extension DisplayChange.Subject {
  fileprivate var name: String { "\(key?.id ?? 0).\(revision)" }
}
