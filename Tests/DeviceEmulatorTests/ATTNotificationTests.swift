import NotibotProtocol
import Testing

@testable import DeviceEmulator

struct ATTNotificationTests {
  @Test func `no notification is sent before the subscription, nor later about that time`() {
    var rig = ATTRig()
    _ = rig.write(sampleJSON.utf8)
    #expect(rig.notifications().isEmpty)
    _ = rig.ask("12 0400 0100")
    #expect(rig.notifications().isEmpty)
    _ = rig.write(sampleJSON.utf8)
    #expect(rig.notifications() == ["1b03000200"])
  }

  @Test func `no notification is sent after unsubscribing, not even a queued one`() {
    var rig = ATTRig()
    _ = rig.ask("12 0400 0100")
    _ = rig.write(sampleJSON.utf8)
    _ = rig.ask("12 0400 0000")
    #expect(rig.notifications().isEmpty)
  }

  @Test func `queued events are dropped when the client unsubscribes from Data`() {
    var rig = ATTRig()
    _ = rig.ask("12 0700 0100")
    rig.server.notify([1])
    _ = rig.ask("12 0700 0000")
    #expect(rig.notifications().isEmpty)
  }

  @Test func `subscribing again, and another subscription, discard nothing`() {
    var rig = ATTRig()
    _ = rig.ask("12 0400 0100")
    _ = rig.ask("12 0700 0100")
    _ = rig.write(sampleJSON.utf8)
    rig.server.notify([1])
    _ = rig.ask("12 0400 0100")
    _ = rig.ask("12 0700 0100")
    #expect(rig.notifications() == ["1b03000100", "1b060001"])
    rig.server.notify([2])
    _ = rig.ask("12 0400 0000")
    #expect(rig.notifications() == ["1b060002"])
  }

  @Test func `SYNC queues the gone notifications of its source again and leaves other sources alone`() {
    var rig = ATTRig()
    rig.server.open(.serial, features: [.optionalKeys, .sync], source: 5)
    _ = rig.ask("02 0502")
    _ = rig.ask("12 0700 0100")
    for source in [5, 77] { _ = rig.write(identified(id: 1, tail: #","src":\#(source)"#)) }
    for item in 1...2 { rig.server.changeStore { _ = $0.dismiss(item: item) } }
    _ = rig.server.receiveMessage(syncMessage(5), on: .serial)
    let events = [
      #"{"ev":"dismissed","item":2,"id":1,"src":77}"#, #"{"ev":"dismissed","item":1,"id":1,"src":5}"#,
    ]
    #expect(rig.notifications().prefix(2) == events.map { "1b0600" + hex(Array($0.utf8)).lowercased() }[...])
  }

  @Test(arguments: [(UInt16(45), true), (44, false)])
  func `an event of exactly MTU minus 3 bytes about a gone notification is sent`(mtu: UInt16, fits: Bool) {
    var rig = ATTRig(mtu: nil)
    rig.server.open(.serial, features: [.optionalKeys, .sync], source: 5)
    _ = rig.ask([0x02] + mtu.littleEndianBytes)
    _ = rig.ask("12 0700 0100")
    rig.server.open(BearerID(rawValue: 1), features: [.optionalKeys, .sync], source: 5)
    _ = rig.ask("02 0502", on: BearerID(rawValue: 1))
    _ = rig.ask([0x12, 0x06, 0x00] + identified(id: 1), on: BearerID(rawValue: 1))
    rig.server.changeStore { _ = $0.dismiss(item: 1) }
    let event = Array(#"{"ev":"dismissed","item":1,"id":1,"src":5}"#.utf8)
    #expect(rig.notifications().contains("1b0600" + hex(event).lowercased()) == fits)
  }

  @Test func `a bearer that has ended waits for no SYNCED`() {
    var rig = ATTRig()
    rig.server.open(.serial, features: [.optionalKeys, .sync], source: 5)
    _ = rig.server.receiveMessage(syncMessage(5), on: .serial)
    #expect(rig.server.hasPendingSync(on: .serial))
    rig.server.close(.serial)
    #expect(!rig.server.hasPendingSync(on: .serial))
  }

  @Test func `pending counts are merged into the latest value`() {
    var rig = ATTRig()
    _ = rig.ask("12 0400 0100")
    for _ in 0..<5 { _ = rig.write(sampleJSON.utf8) }
    #expect(rig.notifications() == ["1b03000500"])
  }

  @Test func `a refused write sends no notification`() {
    var rig = ATTRig()
    _ = rig.ask("12 0400 0100")
    #expect(rig.write("[]".utf8) == "0112060080")
    #expect(rig.notifications().isEmpty)
  }

  @Test func `a change beyond 65535 sends no notification`() {
    var rig = ATTRig()
    rig.server.changeStore { $0.setOtherWritersCount(65_534) }
    _ = rig.ask("12 0400 0100")
    _ = rig.write(sampleJSON.utf8)
    #expect(rig.notifications() == ["1b0300ffff"])
    _ = rig.write(sampleJSON.utf8)
    #expect(rig.notifications().isEmpty)
    #expect(rig.ask("0a 0300") == "0bffff")
  }

  @Test func `eight events are queued in order, the ninth is dropped and counted`() {
    var rig = ATTRig()
    _ = rig.ask("12 0700 0100")
    for number in UInt8(0)..<9 { rig.server.notify([number]) }
    #expect(rig.notifications() == (0..<8).map { "1b06000\($0)" })
    #expect(rig.server.counters.eventsDropped == 1)
  }

  @Test func `an event of MTU minus 3 bytes is sent, a longer one is dropped and counted`() {
    var rig = ATTRig(mtu: nil)
    _ = rig.ask("12 0700 0100")
    rig.server.notify([UInt8](repeating: 0x41, count: 20))
    rig.server.notify([UInt8](repeating: 0x42, count: 21))
    #expect(rig.notifications() == ["1b0600" + String(repeating: "41", count: 20)])
    #expect(rig.server.counters.eventsDropped == 1)
  }

  @Test func `each bearer has its own MTU, CCCDs and queue, and all share one store`() {
    var rig = ATTRig(mtu: 100)
    let radio = BearerID(rawValue: 1)
    rig.server.open(radio)
    _ = rig.ask("12 0400 0100")
    _ = rig.ask("16 0600 0000 7b")
    #expect(rig.ask("0a 0400", on: radio) == "0b0000")
    #expect(rig.server.bearer(radio)?.mtu == 23)
    #expect(rig.ask("18 01", on: radio) == "19")
    _ = rig.ask("02 0502", on: radio)
    #expect(rig.ask([0x12, 0x06, 0x00] + Array(sampleJSON.utf8), on: radio) == "13")
    #expect(rig.notifications() == ["1b03000100"])
    #expect(rig.notifications(for: radio).isEmpty)
  }

  @Test func `the state of a bearer ends with it, the store does not`() {
    var rig = ATTRig()
    _ = rig.ask("12 0400 0100")
    _ = rig.ask("16 0600 0000 7b")
    _ = rig.write(sampleJSON.utf8)
    rig.server.close(.serial)
    #expect(rig.ask("0a 0300") == nil)
    rig.server.open(.serial)
    #expect(rig.server.bearer(.serial)?.mtu == 23)
    #expect(rig.ask("0a 0400") == "0b0000")
    #expect(rig.ask("18 01") == "19")
    #expect(rig.ask("0a 0300") == "0b0100")
    #expect(rig.notifications().isEmpty)
  }

  @Test func `a notification that came back takes only its own notice`() {
    var bearer = ATTBearer(id: .serial, features: [.sync])
    bearer.setCCCD(of: .data, to: 1)
    for id in UInt32(1)...3 { _ = bearer.queue(.dismissed(id)) }
    let isQueuedAgain = bearer.queue(.dismissed(2))
    #expect(isQueuedAgain && bearer.notices.count == 3)
    bearer.settle(NotificationKey(source: 5, id: 2))
    #expect(bearer.notices.map(\.key.id) == [1, 3])
  }

  @Test func `notices beyond the limit are dropped, and the host is asked for a SYNC`() {
    var bearer = ATTBearer(id: .serial, features: [.sync])
    bearer.setCCCD(of: .data, to: 1)
    let queued = (1...UInt32(ATTBearer.noticesLimit)).map { bearer.queue(.dismissed($0)) }
    #expect(!queued.contains(false))
    #expect(bearer.pendingResync == .none)
    let isQueued = bearer.queue(.dismissed(0))
    #expect(!isQueued)
    #expect(bearer.pendingResync == .due)
    #expect(bearer.notices.count == 128)
  }
}

extension GoneNotice {
  fileprivate static func dismissed(_ id: UInt32) -> GoneNotice {
    GoneNotice(reason: .dismissed, key: NotificationKey(source: 5, id: id), item: 0)
  }
}
