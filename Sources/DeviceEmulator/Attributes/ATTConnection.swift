import DequeModule
import NotibotProtocol

/// An action of a connection for the driver.
package enum ConnectionAction: Equatable, Sendable {
  /// Send these bytes: one record.
  case transmit([UInt8])
  /// End it.
  case close
}

/// Counters of connections since the emulator started.
package struct ConnectionCounters: Equatable, Sendable, Codable {
  /// Connections that were accepted.
  package var accepted = 0
  /// Connections that were refused because of `connectionsLimit`.
  package var refused = 0
  /// Connections that the device ended because of a record with an impossible length.
  package var malformed = 0
  /// Connections that their client ended in the middle of a record.
  package var cut = 0

  package init() {}
}

/// The path to the attribute server without a session: a connection, as over BLE, that carries PDUs
/// as records. The state of the bearer belongs to the server (`ATTBearer`); this type handles only
/// bytes. Source: PROTOCOL.md ATT-3.
///
/// States: *waiting*, until a device that restarts has booted → *open* → *ending*, after a record
/// with an impossible length, once everything before it is answered, or at once if the device
/// restarts → *closed*, until the driver has seen the end. Inputs: `receive`; commands: `open`,
/// `end`, `answer`; outputs: `popRequest`, `popAnswer`, `popEnd`.
struct ATTConnection: Equatable, Sendable {
  private enum State: Equatable, Sendable {
    case waiting
    case open
    case ending
    case closed
  }

  /// The maximum number of answers queued for a client that does not read; beyond it, its requests
  /// wait too.
  static let answersLimit = 8
  /// The maximum number of bytes of queued requests before the driver stops reading.
  static let inputLimitBytes = 2 * (RecordDecoder.prefixBytes + RecordDecoder.lengthLimitBytes)

  let id: BearerID
  private var state = State.waiting
  private var decoder = RecordDecoder()
  private var answers: Deque<[UInt8]> = []

  init(id: BearerID) {
    self.id = id
  }

  // MARK: Inputs

  /// Takes bytes from the client.
  mutating func receive(_ bytes: [UInt8]) {
    switch state {
    case .waiting, .open: decoder.receive(bytes)
    case .ending, .closed: break
    }
  }

  // MARK: Commands

  /// Begins the bearer. Returns false if it has already begun, or has ended.
  mutating func open() -> Bool {
    guard state == .waiting else { return false }
    state = .open
    return true
  }

  /// Ends it: no more input is taken, and no output is sent.
  mutating func end() {
    guard state != .closed else { return }
    state = .ending
    decoder = RecordDecoder()
    answers = []
  }

  /// Queues an answer to a request that was taken.
  mutating func answer(_ pdu: [UInt8]) {
    answers.append(pdu)
  }

  // MARK: Outputs

  /// The next request, if there is room for its answer.
  mutating func popRequest() -> [UInt8]? {
    hasRequest ? decoder.nextPDU() : nil
  }

  mutating func popAnswer() -> [UInt8]? { answers.popFirst() }

  /// Whether the connection must be closed now; reported once.
  mutating func popEnd() -> Bool {
    switch state {
    case .waiting, .closed: return false
    case .open: guard isBroken, answers.isEmpty else { return false }
    case .ending: break
    }
    state = .closed
    return true
  }

  // MARK: Queries

  /// Whether a request can be taken.
  var hasRequest: Bool { state == .open && decoder.hasPDU && answers.count < Self.answersLimit }

  /// Whether notifications may be sent.
  var isOpen: Bool { state == .open && !decoder.isBroken }

  /// Whether a record with an impossible length was received.
  var isBroken: Bool { decoder.isBroken }

  /// Whether a record is incomplete.
  var isInRecord: Bool { decoder.bufferedBytes > 0 }

  /// Whether the driver should stop reading for now.
  var isFull: Bool { decoder.bufferedBytes >= Self.inputLimitBytes }
}
