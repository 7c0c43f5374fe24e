import DequeModule
import NotibotProtocol

/// What a driver is to do with a connection.
enum ConnectionAction: Equatable, Sendable {
  /// Send these bytes: one record.
  case transmit([UInt8])
  /// End it.
  case close
}

/// What has become of connections since the emulator started.
package struct ConnectionCounters: Equatable, Sendable, Codable {
  /// Those that were taken.
  package var accepted = 0
  /// Those that found as many as the device takes.
  package var refused = 0
  /// Those that the device ended because of a record of impossible length.
  package var malformed = 0
  /// Those that their client ended in the middle of a record.
  package var cut = 0

  package init() {}
}

/// The way to the attribute server that is no session: a connection, as over BLE, that carries PDUs as records. What
/// belongs to the bearer is the server's (`ATTBearer`); here are only bytes. Source: PROTOCOL.md ATT-3.
///
/// States: *waiting*, until a device that restarts has booted → *open* → *ending*, after a record of impossible length,
/// when everything before it is answered, or at once when the device restarts → *closed*, until the driver has seen the
/// end. Inputs: `receive`; commands: `open`, `end`, `answer`; outputs: `takeRequest`, `takeAnswer`, `takeEnd`.
struct ATTConnection: Equatable, Sendable {
  private enum State: Equatable, Sendable {
    case waiting
    case open
    case ending
    case closed
  }

  /// Answers that wait for a client that does not read; then its requests wait, too.
  static let answersLimit = 8
  /// Bytes of requests that wait before the driver reads no more.
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

  /// Begins the bearer. Returns false when it has begun already, or is over.
  mutating func open() -> Bool {
    guard state == .waiting else { return false }
    state = .open
    return true
  }

  /// Ends it: nothing more is taken, and nothing is sent.
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

  /// The next request, as long as there is room for its answer.
  mutating func takeRequest() -> [UInt8]? {
    guard state == .open, answers.count < Self.answersLimit else { return nil }
    return decoder.nextPDU()
  }

  mutating func takeAnswer() -> [UInt8]? { answers.popFirst() }

  /// Whether the connection is to be closed now; said once.
  mutating func takeEnd() -> Bool {
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

  /// Whether a record of impossible length came.
  var isBroken: Bool { decoder.isBroken }

  /// Whether a record has begun and not ended.
  var isInRecord: Bool { decoder.bufferedBytes > 0 }

  /// Whether the driver should read no more for now.
  var isFull: Bool { decoder.bufferedBytes >= Self.inputLimitBytes }
}
