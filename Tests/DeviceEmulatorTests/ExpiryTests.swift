import NotibotProtocol
import Testing

@testable import DeviceEmulator

/// The effects of a clock and a restart on notifications with an identity. Source: PROTOCOL.md
/// NTF-12, NTF-22, NTF-27.
struct ExpiryTests {
  private let expired = #"{"ev":"expired","item":1,"id":1,"src":\#(homeSource)}"#

  @Test func `a notification expires at its time, to the second`() {
    var rig = SyncRig()
    rig.open(source: homeSource, clock: 1000)
    _ = rig.ask([0x12, 0x04, 0x00, 0x01, 0x00])
    #expect(rig.write(identified(id: 1, tail: #","exp":1002"#)) == ["13", "1b03000100"])
    #expect(rig.advance(by: .milliseconds(1999)) == [])
    #expect(rig.advance(by: .milliseconds(1)) == ["1b03000000", expired])
    #expect(rig.sync() == [expired, "SYNCED n=1 hwm=1"])
    #expect(rig.device.statistics.attributes.expiries == 1)
  }

  @Test func `an expiry is due that many seconds after the clock was set, or at once`() {
    let time = TimeOfDay(seconds: 1000, at: .ms(5))
    #expect(time.moment(of: 1002) == .ms(2005))
    #expect(time.moment(of: 900) == .ms(5))
  }

  @Test func `a notification that is already expired is stored, hidden and reported`() {
    var rig = SyncRig()
    rig.open(source: homeSource, clock: 1000)
    rig.send([0x12, 0x06, 0x00] + identified(id: 1, tail: #","exp":1000"#))
    #expect(rig.device.store.count == 0)
    #expect(rig.drainWords() == ["13", expired])
    #expect(rig.device.store.items.count == 1)
  }

  @Test func `without a clock nothing expires, with the clock of a later host it does`() {
    var rig = SyncRig()
    rig.open(source: homeSource)
    #expect(rig.write(identified(id: 1, tail: #","exp":1"#)) == ["13"])
    #expect(rig.device.store.count == 1)
    rig.open(source: homeSource, clock: 1000)
    #expect(rig.device.store.count == 0)
    #expect(rig.sync() == [expired, "SYNCED n=1 hwm=1"])
  }

  @Test func `the clock runs on between sessions`() {
    var rig = SyncRig()
    rig.open(source: homeSource, clock: 1000)
    _ = rig.write(identified(id: 1, tail: #","exp":1060"#))
    _ = rig.advance(by: .seconds(59))
    #expect(rig.device.store.count == 1)
    _ = rig.advance(by: .seconds(1))
    #expect(rig.device.store.count == 0)
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

  @Test func `with a stalled application nothing expires until it continues`() {
    var rig = SyncRig()
    rig.open(source: homeSource, clock: 1000)
    _ = rig.write(identified(id: 1, tail: #","exp":1001"#))
    _ = rig.perform(.stall)
    #expect(rig.advance(by: .seconds(2)) == [])
    #expect(rig.device.store.count == 1)
    #expect(rig.perform(.resume) == [expired])
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
}
