import NotibotProtocol
import Testing

@testable import DeviceEmulator

/// Identity and SYNC on the wire. Source: PROTOCOL.md LNK-5, NTF-20 to NTF-33.
struct SyncTests {
  private func gone(_ reason: String, item: Int, id: Int) -> String {
    #"{"ev":"\#(reason)","item":\#(item),"id":\#(id),"src":\#(homeSource)}"#
  }

  // MARK: LNK-5

  @Test(arguments: [
    (DeviceProfile.quiet, UInt32(0b11111)), (.tiny, 0b11111), (.bench, 0b11111), (.firmware, 0b1001),
  ])
  func `a device that can refuse announces keys and SYNC, another one announces neither`(
    profile: DeviceProfile, bits: UInt32
  ) throws {
    var rig = DeviceRig(profile: profile)
    rig.send(.syn, payload: Syn(nonce: 1).encoded())
    let synack = try SynAck(parsing: try #require(rig.drainFrames().last).payload)
    #expect(synack.features.rawValue == bits)
  }

  @Test func `a device that can no longer refuse announces that to the next host`() throws {
    var rig = SyncRig()
    rig.open(source: homeSource)
    _ = rig.perform(.mode(.firmware))
    #expect(rig.write(identified(id: 1)) == ["13"])
    #expect(rig.write(identified(id: 1, text: "other")) == ["13"])
    #expect(rig.device.statistics.attributes.refused == 1)
    rig.open(source: homeSource)
    #expect(rig.write(identified(id: 1)) == ["13"])
    #expect(rig.device.store.count == 2)
  }

  @Test(arguments: [Features(), [.pipelinedRequests], [.sync], [.pipelinedRequests, .sync]])
  func `without the host's bit 1 there is neither identity nor SYNC`(features: Features) {
    var rig = SyncRig()
    rig.open(features: features, source: homeSource)
    _ = rig.write(identified(id: 1))
    #expect(rig.write(identified(id: 1)) == ["13"])
    #expect(rig.device.store.count == 2)
    #expect(rig.sync() == [])
    #expect(rig.device.statistics.link.unserved == 1)
  }

  @Test func `with bit 1 alone there is identity and no SYNC`() {
    var rig = SyncRig()
    rig.open(features: [.optionalKeys], source: homeSource)
    _ = rig.write(identified(id: 1))
    #expect(rig.write(identified(id: 1)) == ["13"])
    #expect(rig.device.store.count == 1)
    #expect(rig.sync() == [])
    #expect(rig.device.statistics.attributes.syncs == 0)
  }

  // MARK: NTF-21, NTF-23

  @Test func `the source is the key, otherwise that of SYNC, otherwise that of SYN`() {
    var rig = SyncRig()
    rig.open(source: 5)
    _ = rig.write(identified(id: 1))
    _ = rig.sync(6)
    _ = rig.write(identified(id: 1))
    _ = rig.write(identified(id: 1, tail: #","src":7"#))
    #expect(rig.device.store.items.map(\.identity?.key.source) == [5, 6, 7])
  }

  @Test(arguments: [nil, UInt32(0)])
  func `an id without any source is refused`(source: UInt32?) {
    var rig = SyncRig()
    rig.open(source: source)
    #expect(rig.write(identified(id: 1)) == ["0112060080"])
    #expect(rig.sync() == ["SYNCED n=0 hwm=0"])
    #expect(rig.write(identified(id: 1)) == ["13"])
  }

  @Test func `the same id and revision with other bytes is 0x81`() {
    var rig = SyncRig()
    rig.open(source: homeSource)
    _ = rig.write(identified(id: 1))
    #expect(rig.write(identified(id: 1, text: "other")) == ["0112060081"])
    #expect(rig.device.store.items.map(\.json) == [identified(id: 1)])
    #expect(rig.device.statistics.attributes.refused == 1)
  }

  @Test func `a long write is parsed with the same keys`() {
    var rig = SyncRig()
    rig.open(source: homeSource, mtu: 64)
    let json = identified(id: 3)
    _ = rig.ask([0x16, 0x06, 0x00, 0x00, 0x00] + json.prefix(40))
    _ = rig.ask([0x16, 0x06, 0x00, 40, 0x00] + json.dropFirst(40))
    #expect(rig.ask([0x18, 0x01]) == ["19"])
    #expect(rig.device.store.writers.highestID(of: homeSource) == 3)
  }

  @Test func `each outcome has its counter`() {
    var rig = SyncRig(profile: .tiny)
    rig.open(source: homeSource)
    for id in 1...4 { _ = rig.write(identified(id: id, tail: #","lvl":0"#)) }
    _ = rig.write(identified(id: 4, tail: #","lvl":0"#))
    _ = rig.write(identified(id: 4, tail: #","rev":1"#))
    _ = rig.write(identified(id: 5))
    _ = rig.write(WrittenNotification.removal(of: 5).encoded())
    let statistics = rig.device.statistics
    #expect(statistics.attributes.stored == 5)
    #expect(statistics.attributes.duplicates == 1)
    #expect(statistics.attributes.modified == 1)
    #expect(statistics.attributes.evictions == 1)
    #expect(statistics.attributes.removed == 1)
    #expect(statistics.sourceCount == 1)
    #expect(statistics.goneCount == 1)
  }

  // MARK: NTF-26

  @Test
  func
    `a gone notification is reported when it happens, at each SYNC, and for each write, until it is removed`()
  {
    var rig = SyncRig()
    rig.open(source: homeSource)
    _ = rig.write(identified(id: 1))
    let notice = gone("dismissed", item: 1, id: 1)
    #expect(rig.perform(.dismiss(1)) == [notice])
    #expect(rig.sync() == [notice, "SYNCED n=0 hwm=1"])
    #expect(rig.sync() == [notice, "SYNCED n=0 hwm=1"])
    #expect(rig.write(identified(id: 1)) == ["13", notice])
    #expect(rig.write(WrittenNotification.removal(of: 1).encoded()) == ["13"])
    #expect(rig.device.statistics.attributes.removed == 1)
    #expect(rig.sync() == ["SYNCED n=0 hwm=1"])
    #expect(rig.device.store.gone.notices.isEmpty)
  }

  @Test func `notifications that left without a session are reported at the next session's SYNC`() {
    var rig = SyncRig()
    rig.open(source: homeSource)
    for id in 1...3 { _ = rig.write(identified(id: id)) }
    rig.rig.send(.fin, session: rig.session, credit: 64)
    _ = rig.perform(.dismiss(3))
    _ = rig.perform(.dismiss(1))
    rig.open()
    #expect(rig.drainWords() == [])
    #expect(
      rig.sync() == [
        gone("dismissed", item: 3, id: 3), gone("dismissed", item: 1, id: 1), "SYNCED n=1 hwm=3",
      ])
  }

  @Test func `an event that does not fit is reported by GONE`() {
    var rig = SyncRig(profile: .mtu23)
    rig.open(source: homeSource, mtu: 23)
    _ = rig.ask([0x16, 0x06, 0x00, 0x00, 0x00] + identified(id: 1).prefix(18))
    for offset in stride(from: 18, to: identified(id: 1).count, by: 18) {
      _ = rig.ask(
        [0x16, 0x06, 0x00, UInt8(offset), 0x00] + identified(id: 1).dropFirst(offset).prefix(18))
    }
    #expect(rig.ask([0x18, 0x01]) == ["19"])
    #expect(rig.perform(.dismiss(1)) == ["GONE dismissed 1"])
    #expect(rig.sync() == ["GONE dismissed 1", "SYNCED n=0 hwm=1"])
  }

  @Test func `without SYNC an event that does not fit is dropped and counted`() {
    var rig = SyncRig()
    rig.open(features: [.optionalKeys], source: homeSource, mtu: 72)
    _ = rig.write(identified(id: 1))
    rig.open(features: [.optionalKeys], source: homeSource, mtu: 23)
    #expect(rig.perform(.dismiss(1)) == [])
    #expect(rig.device.statistics.attributes.eventsDropped == 1)
  }

  @Test func `no notification is sent to a host that has not subscribed`() {
    var rig = SyncRig()
    rig.open(source: homeSource, subscribes: false)
    _ = rig.write(identified(id: 1))
    #expect(rig.perform(.dismiss(1)) == [])
    #expect(rig.sync() == ["SYNCED n=0 hwm=1"])
    #expect(rig.device.statistics.attributes.eventsDropped == 0)
  }

  @Test func `an action names the identity`() {
    var rig = SyncRig()
    rig.open(source: homeSource)
    _ = rig.write(identified(id: 9))
    #expect(
      rig.perform(.action(1, 2)) == [
        #"{"ev":"action","item":1,"act":2,"id":9,"src":\#(homeSource),"rev":0}"#
      ])
  }

  // MARK: NTF-31, LNK-44

  /// Every byte from the table in PROTOCOL.md NTF-30.
  @Test func `the bytes of SYNC are answered by the bytes of SYNCED`() throws {
    var rig = DeviceRig()
    let session = try rig.openSession(features: [.optionalKeys, .sync])
    rig.send(
      .data, channel: .link, session: session, credit: 64,
      payload: bytes("01 01 ee ff c0 07 00 00 00 02 00 11 22 33 44 55 66 77 88"))
    let boot = rig.device.statistics.bootID
    let bootBytes = [UInt8](withUnsafeBytes(of: boot.littleEndian) { Array($0) })
    let frames = rig.drainFrames().filter { $0.header.type == .data }
    #expect(frames.map(\.header.channel) == [.link])
    #expect(
      frames.map(\.payload) == [
        bytes("02 01 ee ff c0 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 04") + bootBytes
      ])
  }

  @Test func `all gone notifications come before SYNCED, and answers to requests after SYNC come after it`() {
    var rig = SyncRig()
    rig.open(source: homeSource)
    for id in 1...20 { _ = rig.write(identified(id: id)) }
    for item in 1...20 as ClosedRange<UInt32> { _ = rig.perform(.dismiss(item)) }
    rig.send(syncMessage(), on: .link)
    rig.send([0x0A, 0x03, 0x00])
    // Eight frames wait for an acknowledgement (LNK-43), so SYNCED is not sent, and the read after
    // SYNC not taken.
    #expect(rig.device.statistics.attributes.requests == 22)
    let words = rig.drainWords()
    #expect(words.prefix(20) == (1...20).map { gone("dismissed", item: $0, id: $0) }[...])
    #expect(words.dropFirst(20) == ["SYNCED n=0 hwm=20", "0b0000"])
  }

  @Test func `events while SYNCED is pending are reported before it and counted in it`() {
    var rig = SyncRig()
    rig.open(source: homeSource)
    for id in 1...12 { _ = rig.write(identified(id: id)) }
    for item in 1...10 as ClosedRange<UInt32> { _ = rig.perform(.dismiss(item)) }
    rig.send(syncMessage(), on: .link)
    rig.rig.perform(.dismiss(11))
    let words = rig.drainWords()
    #expect(words.suffix(2) == [gone("dismissed", item: 11, id: 11), "SYNCED n=1 hwm=12"])
    #expect(words.count == 12)
  }

  @Test(arguments: ["02", "03", "00", "ff", "01", "01 01000000 00000000 0000 00000000000000"])
  func `a message other than SYNC is acknowledged, dropped and counted`(message: String) {
    var rig = SyncRig()
    rig.open(source: homeSource)
    #expect(rig.ask(bytes(message), on: .link) == [])
    #expect(rig.device.statistics.link.unserved == 1)
    #expect(rig.sync() == ["SYNCED n=0 hwm=0"])
  }

  @Test func `a SYNC of source 0 is dropped`() {
    var rig = SyncRig()
    rig.open()
    #expect(rig.sync(0) == [])
    #expect(rig.device.store.writers.records.isEmpty)
  }

  // MARK: NTF-33

  @Test func `a dropped event requests SYNC once until it is received`() {
    var rig = SyncRig()
    rig.open(source: homeSource)
    for _ in 0..<40 { _ = rig.write(Array(sampleJSON.utf8)) }
    // Eight are sent and wait for an ACK, eight are queued, the others are dropped.
    for item in 1...20 as ClosedRange<UInt32> { rig.rig.perform(.dismiss(item)) }
    let words = rig.drainWords()
    #expect(words.count == 17)
    #expect(words.last == "RESYNC")
    for item in 21...40 as ClosedRange<UInt32> { rig.rig.perform(.dismiss(item)) }
    #expect(rig.drainWords().contains("RESYNC") == false)
    #expect(rig.sync() == ["SYNCED n=0 hwm=0"])
    #expect(rig.device.statistics.attributes.resyncs == 1)
  }

  @Test func `more than eight identified events are queued, and RESYNC is sent when the list overflows`() {
    var rig = SyncRig()
    rig.open(source: homeSource)
    for id in 1...65 { _ = rig.write(identified(id: id)) }
    for item in 1...64 as ClosedRange<UInt32> { rig.rig.perform(.dismiss(item)) }
    #expect(rig.drainWords() == (1...64).map { gone("dismissed", item: $0, id: $0) })
    #expect(rig.perform(.dismiss(65)) == [gone("dismissed", item: 65, id: 65), "RESYNC"])
    #expect(rig.device.statistics.attributes.eventsDropped == 0)
  }

  @Test func `an event too long for the MTU requests no SYNC`() {
    var rig = SyncRig()
    rig.open(source: homeSource)
    _ = rig.write(Array(sampleJSON.utf8))
    rig.open(source: homeSource, mtu: 23)
    #expect(rig.perform(.dismiss(1)) == [])
    #expect(rig.device.statistics.attributes.eventsDropped == 1)
  }

  @Test func `a forgotten writer is asked for SYNC, another one is not`() {
    var rig = SyncRig()
    rig.open(source: homeSource)
    _ = rig.write(identified(id: 1))
    for source in 1...3 { _ = rig.write(identified(id: 1, tail: #","src":\#(source)"#)) }
    #expect(rig.write(identified(id: 1, tail: #","src":4"#)) == ["13", "RESYNC"])
    #expect(rig.sync() == ["SYNCED n=0 hwm=0"])
    #expect(rig.write(identified(id: 1, tail: #","src":5"#)) == ["13"])
  }
}
