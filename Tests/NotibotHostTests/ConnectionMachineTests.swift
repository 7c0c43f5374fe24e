import NotibotProtocol
import Testing

@testable import NotibotHost

/// The host over a connection: records in, records out, and time as a value. Source: PROTOCOL.md
/// ATT-3, ATT-6, ATT-7.
@Suite struct ConnectionMachineTests {
  private let json = Array(#"{"app":"A","title":"B","text":"C","timestamp":1}"#.utf8)

  /// A machine and its clock; the test plays the device.
  private struct Connection {
    var machine: ConnectionMachine
    var now = Instant.zero
    var actions: [HostAction] = []
    private var sent = RecordDecoder()

    init(connectTimeout: Duration? = .seconds(2)) {
      var configuration = HostConfiguration()
      configuration.connectTimeout = connectTimeout
      machine = ConnectionMachine(configuration: configuration)
    }

    mutating func drain() {
      while let action = machine.nextAction() {
        if case .write(let bytes) = action { sent.receive(bytes) } else { actions.append(action) }
      }
    }

    mutating func connect() {
      machine.connect(now: now)
      drain()
    }

    mutating func submit(_ request: HostRequest) -> HostRequestID {
      defer { drain() }
      return machine.submit(request, now: now)
    }

    mutating func receive(_ bytes: [UInt8]) {
      machine.receive(bytes.span, now: now)
      drain()
    }

    mutating func receive(pdu: [UInt8]) { receive(ATTRecord.bytes(of: pdu)) }

    mutating func drainSent() -> [[UInt8]] {
      var pdus: [[UInt8]] = []
      while let pdu = sent.nextPDU() { pdus.append(pdu) }
      return pdus
    }

    mutating func drainActions() -> [HostAction] {
      defer { actions = [] }
      return actions
    }

    /// Moves the clock to the machine's next deadline.
    mutating func expire() throws {
      now = try #require(machine.nextDeadline)
      machine.handleTimeout(now: now)
      drain()
    }
  }

  /// A device with the service at `first`, as NimBLE has it at 14.
  private func makeOpen(first: UInt8 = 1) throws -> Connection {
    var connection = Connection()
    connection.connect()
    #expect(connection.drainSent() == [[0x02, 0x05, 0x02]])
    connection.receive(pdu: [0x03, 0x05, 0x02])
    let service = NotibotProfile.service.littleEndian
    #expect(connection.drainSent() == [[0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28]])
    connection.receive(pdu: [0x11, 20, first, 0, first + 6, 0] + service)
    #expect(connection.drainSent() == [[0x08, first, 0, first + 6, 0, 0x03, 0x28]])
    connection.receive(
      pdu: [0x09, 21, first + 1, 0, 0x12, first + 2, 0] + NotibotProfile.count.littleEndian
        + [first + 4, 0, 0x18, first + 5, 0] + NotibotProfile.data.littleEndian)
    #expect(connection.drainSent() == [[0x08, first + 5, 0, first + 6, 0, 0x03, 0x28]])
    connection.receive(pdu: [0x01, 0x08, first + 5, 0, 0x0A])
    #expect(connection.drainSent() == [[0x04, first + 3, 0, first + 6, 0]])
    connection.receive(
      pdu: [0x05, 0x01, first + 3, 0, 0x02, 0x29, first + 4, 0, 0x03, 0x28, first + 6, 0, 0x02, 0x29])
    guard case .opened(let info)? = connection.drainActions().first else {
      Issue.record("it is not open")
      return connection
    }
    #expect(info.mtu == 517 && !info.hasIdentity)
    return connection
  }

  @Test(arguments: [1, 14])
  func `handles are found by UUID, and used`(first: UInt8) throws {
    var connection = try makeOpen(first: first)
    let read = connection.submit(.readCount)
    #expect(connection.drainSent() == [[0x0A, first + 2, 0]])
    connection.receive(pdu: [0x0B, 7, 0])
    #expect(connection.drainActions() == [.completed(read, .count(7))])
    let write = connection.submit(.sendEncoded(json))
    #expect(connection.drainSent() == [[0x12, first + 5, 0] + json])
    connection.receive(pdu: [0x13])
    #expect(connection.drainActions() == [.completed(write, .accepted)])
    connection.receive(pdu: [0x1B, first + 2, 0, 8, 0])
    #expect(connection.drainActions() == [.event(.countChanged(8))])
  }

  @Test func `one request is in flight, and its answer may arrive byte by byte`() throws {
    var connection = try makeOpen()
    let ids = (0..<3).map { _ in connection.submit(.readCount) }
    #expect(connection.drainSent().count == 1)
    for byte in ATTRecord.bytes(of: [0x0B, 1, 0]) { connection.receive([byte]) }
    #expect(connection.drainActions() == [.completed(ids[0], .count(1))])
    #expect(connection.drainSent().count == 1)
  }

  @Test func `a lost connection makes the write in flight unknown, and sends nothing again`() throws {
    var connection = try makeOpen()
    let (sent, waiting) = (connection.submit(.sendEncoded(json)), connection.submit(.sendEncoded(json)))
    connection.machine.receiveEndOfStream(now: connection.now)
    connection.drain()
    #expect(
      connection.drainActions() == [
        .completed(sent, .failed(.outcomeUnknown(.connectionLost))),
        .completed(waiting, .failed(.notSent(.connectionLost))), .ended(.connectionLost),
      ])
    #expect(connection.drainSent().count == 1 && connection.machine.nextDeadline == nil)
    let late = connection.submit(.sendEncoded(json))
    #expect(connection.drainActions() == [.completed(late, .failed(.notSent(.connectionLost)))])
    connection.connect()
    #expect(connection.drainSent().isEmpty)
  }

  @Test func `a device that never answers is given up`() throws {
    var connection = Connection()
    connection.connect()
    try connection.expire()
    #expect(connection.now == .zero + .seconds(2))
    #expect(connection.drainActions() == [.ended(.noAnswer)])
  }

  @Test func `a device that answers one request only is given up`() throws {
    var connection = Connection()
    connection.connect()
    connection.now = .zero + .seconds(1)
    connection.receive(pdu: [0x03, 0x05, 0x02])
    // Nobody asked for these.
    connection.now = .zero + .seconds(2)
    for _ in 0..<3 { connection.receive(pdu: [0x1B, 3, 0, 1, 0]) }
    try connection.expire()
    #expect(connection.now == .zero + .seconds(3))
    #expect(connection.drainActions() == [.ended(.noAnswer)])
  }

  @Test func `a device with ever more services is given up`() throws {
    var connection = Connection()
    connection.connect()
    connection.receive(pdu: [0x03, 0x05, 0x02])
    for second in 1..<40 as Range<UInt8> where !connection.machine.isClosed {
      connection.now = .zero + .seconds(Int64(second))
      connection.machine.handleTimeout(now: connection.now)
      connection.receive(pdu: [0x11, 6, second, 0, second, 0, 0x0A, 0x18])
    }
    #expect(connection.now == .zero + .seconds(32))
    #expect(connection.drainActions() == [.ended(.noAnswer)])
  }

  @Test func `a write that is never confirmed ends the connection, with an unknown outcome`() throws {
    var connection = try makeOpen()
    let id = connection.submit(.sendEncoded(json))
    try connection.expire()
    #expect(
      connection.drainActions() == [
        .completed(id, .failed(.outcomeUnknown(.transactionTimedOut))), .ended(.transactionTimedOut),
      ])
  }

  @Test(arguments: [[0, 0], [0x11, 0x02]] as [[UInt8]])
  func `a record that no PDU fits ends the connection`(record: [UInt8]) throws {
    var connection = try makeOpen()
    connection.receive(record + [UInt8](repeating: 0x1B, count: 600))
    #expect(connection.drainActions() == [.ended(.bearerBroken(.badRecord))])
  }

  @Test func `a flood of PDUs that nobody asked for is counted and changes nothing`() throws {
    var connection = try makeOpen()
    let id = connection.submit(.readCount)
    let flood = ATTRecord.bytes(of: [0x1D, 3, 0]) + ATTRecord.bytes(of: [0x0A, 3, 0])
    for _ in 0..<1000 { connection.receive(flood) }
    #expect(connection.drainActions().isEmpty && connection.machine.statistics.att.ignored == 2000)
    connection.receive(pdu: [0x0B, 1, 0])
    #expect(connection.drainActions() == [.completed(id, .count(1))])
  }

  @Test func `nothing is written while the channel takes nothing`() throws {
    var connection = try makeOpen()
    connection.machine.handleWritability(false, now: connection.now)
    _ = connection.submit(.readCount)
    #expect(connection.drainSent().isEmpty)
    connection.machine.handleWritability(true, now: connection.now)
    connection.drain()
    #expect(connection.drainSent() == [[0x0A, 3, 0]])
  }

  @Test func `closing fails what is not answered`() throws {
    var connection = try makeOpen()
    let id = connection.submit(.sendEncoded(json))
    connection.machine.close(now: connection.now)
    connection.drain()
    #expect(
      connection.drainActions() == [.completed(id, .failed(.outcomeUnknown(.closed))), .ended(.closed)])
    #expect(connection.machine.isClosed)
  }
}
