import NotibotProtocol
import Testing

@testable import DeviceEmulator

/// Presses that are kept until the host has them. Source: PROTOCOL.md NTF-29, NTF-39 to NTF-41.
struct KeptActionTests {
  static let features: Features = [.pipelinedRequests, .optionalKeys, .sync, .keptActions]

  /// A device that holds one notification, and a host that has synced.
  private func makeRig(features: Features = Self.features) -> SyncRig {
    var rig = SyncRig()
    rig.open(features: features, source: homeSource)
    _ = rig.sync()
    _ = rig.write(identified(id: 7))
    return rig
  }

  private func taken(_ press: UInt32, source: UInt32 = homeSource) -> [UInt8] {
    SyncMessage.taken(source: source, press: press).encoded()
  }

  @Test func `a press is reported at once and at each SYNC, until it is taken`() {
    var rig = makeRig()
    #expect(rig.perform(.action(1, 2)) == ["ACTION 2 of 7 rev 0 press 1"])
    #expect(rig.perform(.action(1, 0)) == ["ACTION 0 of 7 rev 0 press 2"])
    let both = ["ACTION 2 of 7 rev 0 press 1", "ACTION 0 of 7 rev 0 press 2"]
    #expect(rig.sync() == both + ["SYNCED n=1 hwm=7"])
    #expect(rig.ask(taken(1), on: .link) == [])
    #expect(rig.sync() == ["ACTION 0 of 7 rev 0 press 2", "SYNCED n=1 hwm=7"])
    #expect(rig.device.statistics.pressCount == 1)
    _ = rig.ask(taken(.max), on: .link)
    #expect(rig.sync() == ["SYNCED n=1 hwm=7"])
    #expect(rig.perform(.action(1, 1)) == ["ACTION 1 of 7 rev 0 press 3"])
  }

  @Test func `a press has the rev of the text that was shown, whatever happens afterwards`() {
    var rig = makeRig()
    rig.open(features: [], source: nil)
    _ = rig.perform(.action(1, 0))
    rig.open(features: Self.features, source: homeSource)
    _ = rig.write(identified(id: 7, text: "other", tail: #","rev":3"#))
    _ = rig.perform(.action(1, 1))
    _ = rig.perform(.dismiss(1))
    #expect(
      rig.sync() == [
        "ACTION 0 of 7 rev 0 press 1", "ACTION 1 of 7 rev 3 press 2",
        #"{"ev":"dismissed","item":1,"id":7,"src":\#(homeSource)}"#, "SYNCED n=0 hwm=7",
      ])
    _ = rig.write(WrittenNotification.removal(of: 7).encoded())
    #expect(
      rig.sync() == [
        "ACTION 0 of 7 rev 0 press 1", "ACTION 1 of 7 rev 3 press 2", "SYNCED n=0 hwm=7",
      ])
  }

  @Test func `the 17th press of a writer is refused and has no number; another writer has its own room`() {
    var rig = makeRig()
    for press in 1...16 {
      #expect(rig.perform(.action(1, 0)) == ["ACTION 0 of 7 rev 0 press \(press)"])
    }
    #expect(rig.perform(.action(1, 0)) == [])
    #expect(rig.device.statistics.attributes.pressesRefused == 1)
    _ = rig.sync(7777)
    _ = rig.write(identified(id: 9))
    #expect(rig.perform(.action(2, 1)) == ["ACTION 1 of 9 rev 0 press 17"])
    #expect(rig.sync().count == 17)
    _ = rig.ask(taken(2), on: .link)
    #expect(rig.perform(.action(1, 0)) == ["ACTION 0 of 7 rev 0 press 18"])
  }

  @Test func `without the feature a press is an event with rev, and is not kept`() {
    let event = #"{"ev":"action","item":1,"act":2,"id":7,"src":\#(homeSource),"rev":0}"#
    var rig = makeRig(features: Self.features.subtracting(.keptActions))
    for _ in 0..<20 { #expect(rig.perform(.action(1, 2)) == [event]) }
    #expect(rig.ask(taken(1), on: .link) == [])
    #expect(rig.device.statistics.link.unserved == 1)
    rig.open(features: Self.features, source: homeSource)
    // Not before the first SYNC.
    #expect(rig.perform(.action(1, 2)) == [event])
    #expect(rig.sync() == ["SYNCED n=1 hwm=7"])
    #expect(rig.perform(.action(1, 2)) == ["ACTION 2 of 7 rev 0 press 1"])
  }

  @Test func `a session without the source of the press gets its event`() {
    var rig = makeRig()
    _ = rig.sync(7777)
    let event = #"{"ev":"action","item":1,"act":2,"id":7,"src":\#(homeSource),"rev":0}"#
    #expect(rig.perform(.action(1, 2)) == [event])
    #expect(rig.sync() == ["ACTION 2 of 7 rev 0 press 1", "SYNCED n=1 hwm=7"])
  }

  @Test func `presses leave with their writer and with a restart`() {
    var rig = makeRig()
    _ = rig.perform(.action(1, 2))
    for source in 1...4 as ClosedRange<UInt32> { _ = rig.sync(source) }
    #expect(rig.device.statistics.pressCount == 0)
    #expect(rig.sync() == ["SYNCED n=0 hwm=0"])
    _ = rig.write(identified(id: 8))
    #expect(rig.perform(.action(2, 0)) == ["ACTION 0 of 8 rev 0 press 2"])
    rig.rig.perform(.reboot(.software))
    rig.rig.advance(by: .seconds(2))
    #expect(rig.device.statistics.pressCount == 0)
  }

  @Test(arguments: [[6], message(source: 0, press: 1), message(source: 1, press: 0)] as [[UInt8]])
  func `a TAKEN that is not valid is counted and releases nothing`(message: [UInt8]) {
    var rig = makeRig()
    _ = rig.perform(.action(1, 2))
    #expect(rig.ask(message, on: .link) == [])
    #expect(rig.device.statistics.link.unserved == 1)
    #expect(rig.device.statistics.pressCount == 1)
  }

  private static func message(source: UInt32, press: UInt32) -> [UInt8] {
    SyncMessage.taken(source: source, press: press).encoded()
  }

  @Test func `presses of an unknown writer's notifications are not kept`() {
    #expect(!WriterRecords().keepsActions(of: 5))
  }

  @Test func `a writer without room is not known`() {
    var writers = WriterRecords(limit: 1)
    for source in [UInt32(5), 6] { writers.use(source) }
    #expect(writers.records.map(\.source) == [5])
  }
}
