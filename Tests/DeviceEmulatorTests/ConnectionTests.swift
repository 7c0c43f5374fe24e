import NotibotProtocol
import Testing

@testable import DeviceEmulator

/// Bearers other than the line, in virtual time.
@Suite struct ConnectionTests {
  /// A device and any number of clients with an interface in hexadecimal.
  private struct Rig {
    var device: EmulatedDevice
    var now = Instant.zero

    init(profile: DeviceProfile = .quiet) {
      device = EmulatedDevice(profile: profile, seed: 1, now: .zero)
    }

    /// A bearer on which a whole notification fits.
    mutating func connect(mtu: String? = "020502") throws -> BearerID {
      let connected = device.connect(now: now)
      let id = try #require(connected)
      if let mtu { #expect(ask(mtu, on: id) == ["030502"]) }
      return id
    }

    /// Sends PDUs, one record each, and returns the answers on the same connection.
    mutating func ask(_ pdus: String..., on id: BearerID) -> [String] {
      send(pdus.flatMap { ATTRecord.bytes(of: bytes($0)) }, on: id)
      return received(on: id)
    }

    mutating func send(_ stream: [UInt8], on id: BearerID) { device.receive(stream, on: id, now: now) }

    /// Every PDU that the device sends now; `close` where it ends the connection.
    mutating func received(on id: BearerID) -> [String] {
      var found: [String] = []
      while let action = device.nextAction(for: id) {
        switch action {
        case .transmit(let record):
          #expect(record.prefix(2) == UInt16(record.count - 2).littleEndianBytes[...])
          found.append(hex(Array(record.dropFirst(2))).lowercased())
        case .close: found.append("close")
        }
      }
      return found
    }

    mutating func write(_ json: String, on id: BearerID) -> [String] {
      send(ATTRecord.bytes(of: [0x12, 6, 0] + Array(json.utf8)), on: id)
      return received(on: id)
    }

    mutating func advance(to moment: Instant) {
      now = moment
      while let deadline = device.nextDeadline, deadline <= moment { device.handleTimeout(now: moment) }
    }
  }

  @Test func `a connection is a bearer without any opening`() throws {
    var rig = Rig()
    let id = try rig.connect(mtu: nil)
    #expect(rig.ask("0a0300", on: id) == ["0b0000"])
    #expect(rig.ask("08 0100 0700 0328", on: id).first?.count == 2 * 23)
    #expect(rig.device.statistics.connectionCount == 1)
  }

  @Test func `each has its MTU, its subscriptions and its parts, and they share one store`() throws {
    var rig = Rig()
    let (first, second) = (try rig.connect(), try rig.connect(mtu: nil))
    #expect(rig.ask("12 0400 0100", on: first) == ["13"])
    #expect(rig.ask("0a 0400", on: second) == ["0b0000"])
    #expect(rig.ask("08 0100 0700 0328", on: first).first?.count == 2 * 44)
    #expect(rig.ask("08 0100 0700 0328", on: second).first?.count == 2 * 23)
    #expect(rig.ask("16 0600 0000 7b", on: second) == ["17060000007b"])
    #expect(rig.ask("18 01", on: first) == ["19"])
    #expect(rig.ask("18 01", on: second) == ["0118060080"])
    #expect(rig.write(sampleJSON, on: first) == ["13", "1b03000100"])
    #expect(rig.ask("0a0300", on: second) == ["0b0100"])
  }

  @Test func `a notification goes to the subscribed bearers, and to no other`() throws {
    var rig = Rig()
    let (writer, subscriber, silent) = (try rig.connect(), try rig.connect(), try rig.connect())
    _ = rig.ask("12 0400 0100", "12 0700 0100", on: subscriber)
    #expect(rig.write(sampleJSON, on: writer) == ["13"])
    #expect(rig.received(on: subscriber) == ["1b03000100"])
    #expect(rig.received(on: silent) == [])
    #expect(rig.device.perform(.dismiss(1), now: rig.now) == .done)
    let received = rig.received(on: subscriber)
    #expect(received.count == 2 && received.contains("1b03000000"))
    #expect(rig.received(on: writer) + rig.received(on: silent) == [])
    _ = rig.ask("12 0400 0000", "12 0700 0000", on: subscriber)
    _ = rig.write(sampleJSON, on: writer)
    #expect(rig.received(on: subscriber) == [])
  }

  @Test func `only an eager stack notifies before it answers a write`() throws {
    for (profile, answers) in [
      (DeviceProfile.stackEager, ["1b10000100", "13"]), (.stackNimBLE, ["13", "1b10000100"]),
    ] {
      var rig = Rig(profile: profile)
      let id = try rig.connect()
      #expect(rig.ask("12 1100 0100", on: id) == ["13"])
      rig.send(ATTRecord.bytes(of: [0x12, 0x13, 0] + Array(sampleJSON.utf8)), on: id)
      #expect(rig.received(on: id) == answers)
    }
  }

  @Test func `a write over a connection notifies the session on the line, and vice versa`() throws {
    var rig = DeviceRig()
    let connected = rig.device.connect(now: rig.now)
    let id = try #require(connected)
    rig.device.receive(bytes("0500 1204000100"), on: id, now: rig.now)
    let session = try rig.openSession()
    rig.send(data: bytes("1204000100"), sequence: 0, session: session)
    rig.send(data: bytes("020502"), sequence: 1, session: session)
    rig.send(data: [0x12, 6, 0] + Array(sampleJSON.utf8), sequence: 2, session: session)
    #expect(rig.dataPayloads().last == bytes("1b03000100"))
    #expect(rig.device.nextAction(for: id) == .transmit(bytes("0100 13")))
    #expect(rig.device.nextAction(for: id) == .transmit(bytes("0500 1b03000100")))
    #expect(rig.device.nextAction(for: id) == nil)
    rig.device.receive(bytes("0300 020502"), on: id, now: rig.now)
    rig.device.receive(
      ATTRecord.bytes(of: [0x12, 6, 0] + Array(sampleJSON.utf8)), on: id, now: rig.now)
    // Takes the pending output, and gives the device no other reason to check for more.
    rig.perform(.statistics)
    #expect(rig.dataPayloads() == [bytes("1b03000200")])
  }

  @Test func `a further connection begins with a new state and finds the store as it was`() throws {
    var rig = Rig()
    let first = try rig.connect()
    _ = rig.ask("12 0400 0100", "12 0700 0100", "16 0600 0000 7b", on: first)
    _ = rig.write(sampleJSON, on: first)
    rig.device.disconnect(first, now: rig.now)
    #expect(rig.received(on: first) == [])
    let second = try rig.connect(mtu: nil)
    #expect(second != first)
    #expect(
      rig.ask("0a0400", "0a0700", "1801", "0a0300", on: second) == ["0b0000", "0b0000", "19", "0b0100"])
    #expect(rig.ask("08 0100 0700 0328", on: second).first?.count == 2 * 23)
  }

  @Test func `a connection beyond the limit is refused and counted until another one ends`() throws {
    var rig = Rig()
    let all = try (0..<4).map { _ in try rig.connect(mtu: nil) }
    #expect(rig.device.connect(now: rig.now) == nil)
    #expect(rig.device.statistics.connections.refused == 1)
    rig.device.disconnect(all[1], now: rig.now)
    _ = try rig.connect(mtu: nil)
    #expect(rig.device.statistics.connectionCount == 4)
    #expect(rig.device.statistics.connections.accepted == 5)
  }

  @Test func `an impossible length closes its connection after the answers, and no other`() throws {
    var rig = Rig()
    let (bad, good) = (try rig.connect(), try rig.connect())
    rig.send(bytes("0300 0a0300 0000 0300 0a0100"), on: bad)
    #expect(rig.received(on: bad) == ["0b0000", "close"])
    #expect(rig.received(on: bad) == [])
    rig.send(bytes("0300 0a0300"), on: bad)
    #expect(rig.received(on: bad) == [])
    #expect(rig.ask("0a0300", on: good) == ["0b0000"])
    #expect(rig.device.statistics.connections.malformed == 1)
    rig.device.disconnect(bad, now: rig.now)
    #expect(rig.device.statistics.connections == counters(accepted: 2, malformed: 1))
  }

  @Test func `a disconnection in the middle of a record applies nothing and is counted`() throws {
    var rig = Rig()
    let id = try rig.connect()
    let record = ATTRecord.bytes(of: [0x12, 6, 0] + Array(sampleJSON.utf8))
    rig.send(Array(record.dropLast()), on: id)
    rig.device.disconnect(id, now: rig.now)
    #expect(rig.device.store.count == 0)
    #expect(rig.device.statistics.connections == counters(accepted: 1, cut: 1))
  }

  @Test func `no more requests are read from a client that does not read, and none is lost`() throws {
    var rig = Rig()
    let id = try rig.connect(mtu: nil)
    let requests = bytes("0300 0a0300")
    rig.send((0..<400).flatMap { _ in requests }, on: id)
    #expect(rig.device.isFull(id))
    #expect(rig.device.connections[0].hasRequest == false)
    #expect(rig.received(on: id) == [String](repeating: "0b0000", count: 400))
    #expect(!rig.device.isFull(id))
  }

  @Test func `a connection is full when two of the longest records are queued, and when it has ended`() throws
  {
    var rig = Rig()
    let id = try rig.connect(mtu: nil)
    _ = rig.device.perform(.stall, now: rig.now)
    // 5 bytes each, and the longest record has 530.
    rig.send((0..<211).flatMap { _ in bytes("0300 0a0300") }, on: id)
    #expect(!rig.device.isFull(id))
    rig.send(bytes("0300 0a0300"), on: id)
    #expect(rig.device.isFull(id))
    rig.device.disconnect(id, now: rig.now)
    #expect(rig.device.isFull(id))
  }

  @Test func `notifications to a client that does not read are bounded`() throws {
    var rig = Rig()
    let id = try rig.connect()
    _ = rig.ask("12 0400 0100", "12 0700 0100", on: id)
    let other = try rig.connect()
    for _ in 0..<20 { _ = rig.write(sampleJSON, on: other) }
    for item in 1...20 as ClosedRange<UInt32> { _ = rig.device.perform(.dismiss(item), now: rig.now) }
    let received = rig.received(on: id)
    #expect(received.filter { $0.hasPrefix("1b0300") } == ["1b03000000"])
    #expect(received.count == 1 + ATTBearer.eventsLimit)
    #expect(rig.device.statistics.attributes.eventsDropped == 20 - ATTBearer.eventsLimit)
  }

  @Test func `a restart ends every connection, and a new one waits for the boot`() throws {
    var rig = Rig()
    let old = try rig.connect()
    #expect(rig.device.perform(.reboot(.software), now: rig.now) == .done)
    #expect(rig.received(on: old) == ["close"])
    rig.device.disconnect(old, now: rig.now)
    let new = try rig.connect(mtu: nil)
    #expect(rig.ask("0a0300", on: new) == [])
    rig.advance(to: rig.now + .seconds(1))
    #expect(rig.received(on: new) == ["0b0000"])
  }

  @Test func `a stalled application answers when it continues`() throws {
    var rig = Rig()
    let id = try rig.connect()
    _ = rig.device.perform(.stall, now: rig.now)
    #expect(rig.ask("0a0300", on: id) == [])
    _ = rig.device.perform(.resume, now: rig.now)
    #expect(rig.received(on: id) == ["0b0000"])
  }

  @Test func `an id needs its src, and a device in firmware mode has no ids`() throws {
    var rig = Rig()
    let id = try rig.connect()
    let identified = #"{"app":"a","title":"b","text":"c","timestamp":1,"id":7}"#
    #expect(rig.write(identified, on: id) == ["0112060080"])
    let keyed = #"{"app":"a","title":"b","text":"c","timestamp":1,"id":7,"src":9}"#
    #expect(rig.write(keyed, on: id) == ["13"])
    #expect(rig.write(keyed, on: id) == ["13"])
    #expect(rig.device.store.count == 1)
    var plain = Rig(profile: .firmware)
    let other = try plain.connect()
    #expect(plain.write(identified, on: other) == ["13"])
    #expect(plain.write(identified, on: other) == ["13"])
    #expect(plain.device.store.count == 2)
  }

  private func counters(accepted: Int = 0, malformed: Int = 0, cut: Int = 0) -> ConnectionCounters {
    var counters = ConnectionCounters()
    counters.accepted = accepted
    counters.malformed = malformed
    counters.cut = cut
    return counters
  }

  @Test func `notifications are sent only on an open connection`() {
    var connection = ATTConnection(id: .serial)
    #expect(!connection.isOpen)
    _ = connection.open()
    #expect(connection.isOpen)
    connection.receive([0, 0])
    #expect(connection.isBroken)
    #expect(!connection.isOpen)
  }

  @Test func `eight requests are taken from a client that reads no answer`() {
    var connection = ATTConnection(id: .serial)
    _ = connection.open()
    for _ in 0..<10 { connection.receive([3, 0, 0x0A, 3, 0]) }
    var taken = 0
    while let request = connection.popRequest() {
      taken += 1
      connection.answer(request)
    }
    #expect(taken == 8)
    _ = connection.popAnswer()
    #expect(connection.popRequest() != nil)
  }
}
