import NotibotProtocol

/// Identifies a connection of the attribute protocol.
package struct BearerID: Hashable, Sendable {
  var rawValue: Int

  init(rawValue: Int) {
    self.rawValue = rawValue
  }

  /// The serial link's session.
  static let serial = BearerID(rawValue: 0)
}

/// Counters of the attribute server since the emulator started.
package struct ATTCounters: Equatable, Sendable, Codable {
  package var requests = 0
  package var errors = 0
  /// PDUs without an answer: commands, responses, confirmations. Source: PROTOCOL.md ATT-15.
  package var ignored = 0
  /// Writes of Data that were stored.
  package var stored = 0
  /// Writes of Data that were not stored, whatever the answer was.
  package var refused = 0
  /// Data notifications dropped because the queue was full or they did not fit. Source: PROTOCOL.md
  /// ATT-19, NTF-11.
  package var eventsDropped = 0
  /// Writes that replaced a stored notification. Source: PROTOCOL.md NTF-23.
  package var modified = 0
  /// Writes that removed a stored notification, or ended the notices that it is gone. Source:
  /// PROTOCOL.md NTF-24.
  package var removed = 0
  /// Writes that succeeded and changed nothing. Source: PROTOCOL.md NTF-23, NTF-24.
  package var duplicates = 0
  /// Source: PROTOCOL.md NTF-25.
  package var evictions = 0
  /// Notifications with an identity that expired. Source: PROTOCOL.md NTF-27.
  package var expiries = 0
  /// SYNC messages taken. Source: PROTOCOL.md NTF-31.
  package var syncs = 0
  /// RESYNC messages sent. Source: PROTOCOL.md NTF-33.
  package var resyncs = 0
  /// Presses for which there was no room. Source: PROTOCOL.md NTF-39.
  package var pressesRefused = 0

  package init() {}
}

/// The attribute server of the device: one store, any number of bearers. Source: PROTOCOL.md
/// section 3.
///
/// A bearer is *open* from `open` to `close`; requests of a bearer that is not open are ignored.
/// Inputs: `receive`, which returns the response, and `sync`; commands: `open`, `close`, `expire`,
/// changes of the store; output: `nextUnsolicited`.
struct ATTServer: Equatable, Sendable {
  /// The largest PDU that the server accepts, in bytes. Source: PROTOCOL.md ATT-8.
  let mtu: UInt16
  /// For SYNCED. Source: PROTOCOL.md NTF-30.
  let bootID: UInt32
  /// The size of each bearer's queue of Data notifications. Source: PROTOCOL.md ATT-19.
  let eventsLimit: Int
  var mode: DeviceMode
  var store: NotificationStore
  var counters: ATTCounters
  /// The bearers of the session and of connections; an array, because changing a dictionary's
  /// values while iterating over them copies it.
  var bearers: [ATTBearer] = []

  init(
    mtu: UInt16, mode: DeviceMode, store: NotificationStore, bootID: UInt32 = 0,
    eventsLimit: Int = ATTBearer.eventsLimit, counters: ATTCounters = ATTCounters()
  ) {
    self.mtu = mtu
    self.bootID = bootID
    self.eventsLimit = eventsLimit
    self.mode = mode
    self.store = store
    self.counters = counters
  }

  /// Begins a bearer: MTU 23, nothing subscribed.
  /// - Parameters:
  ///   - features: the features of both sides.
  ///   - source: the SRC of the SYN.
  ///   - model: its attributes and their server.
  mutating func open(
    _ id: BearerID, features: Features = [], source: UInt32? = nil, model: ServerModel = .own
  ) {
    close(id)
    bearers.append(
      ATTBearer(id: id, features: features, source: source, eventsLimit: eventsLimit, model: model))
  }

  /// Ends a bearer and discards its state.
  mutating func close(_ id: BearerID) {
    bearers.removeAll { $0.id == id }
  }

  /// Takes one PDU. Returns its response, or nil if it gets none. Source: PROTOCOL.md ATT-5.
  ///
  /// - Parameter seconds: now, in seconds since 1970-01-01 UTC; nil if the device does not know. A
  ///   notification that is already expired when it is written never changes Count. Source:
  ///   PROTOCOL.md NTF-27.
  mutating func receive(_ pdu: [UInt8], on id: BearerID, at seconds: UInt32? = nil) -> [UInt8]? {
    guard let index = index(of: id) else { return nil }
    // Taken out of the array while it changes, so that its queues are changed in place.
    var bearer = ATTBearer(id: id)
    swap(&bearer, &bearers[index])
    let countBefore = store.count
    let (count, data) = (bearer.countCCCD, bearer.dataCCCD)
    let response = receive(pdu, on: &bearer)
    let (countAfter, dataAfter) = (bearer.countCCCD, bearer.dataCCCD)
    let hasSubscribed = (count, data) != (countAfter, dataAfter)
    // Execute Write writes Data before it subscribes: the resulting notifications go to those
    // subscribed before (ATT-14).
    let isAtOnce = bearer.model.traits.execution == .atOnce
    if hasSubscribed, isAtOnce { bearer.setCCCDs(count: count, data: data) }
    swap(&bearer, &bearers[index])
    if let seconds { while store.expireNext(at: seconds) {} }
    publishChanges(countBefore: countBefore)
    if hasSubscribed, isAtOnce { bearers[index].setCCCDs(count: countAfter, data: dataAfter) }
    return response?.encoded()
  }

  /// The state of a bearer; nil if it is not open.
  func bearer(_ id: BearerID) -> ATTBearer? {
    index(of: id).map { bearers[$0] }
  }

  func index(of id: BearerID) -> Int? {
    bearers.indices.first { bearers[$0].id == id }
  }

  // MARK: Requests

  /// Which PDUs are answered, and which cannot be parsed. Source: PROTOCOL.md ATT-15, ATT-16.
  private mutating func receive(_ bytes: [UInt8], on bearer: inout ATTBearer) -> ATTPDU? {
    let traits = bearer.model.traits
    guard let opcode = bytes.first, ATTOpcode.isAnswered(opcode) else {
      counters.ignored += 1
      return receiveUnasked(bytes, on: &bearer)
    }
    counters.requests += 1
    do throws(Refusal) {
      if opcode == ATTOpcode.readMultipleRequest.rawValue, traits.answersReadMultiple {
        return try readMultiple(bytes, on: bearer)
      }
      guard ATTOpcode.isSupported(opcode) else { throw Refusal(.requestNotSupported, handle: 0) }
      guard bytes.count <= Int(bearer.mtu), let request = try? ATTPDU(parsing: traits.normalised(bytes))
      else {
        // An Execute Write empties the queue whatever its answer is (ATT-14).
        if opcode == ATTOpcode.executeWriteRequest.rawValue { _ = bearer.drainParts() }
        guard traits.malformed == .refused else { return nil }
        throw Refusal(.invalidPDU, handle: 0)
      }
      return try respond(to: request, on: &bearer)
    } catch {
      counters.errors += 1
      return .errorResponse(request: opcode, handle: error.handle, error: error.code)
    }
  }

  private mutating func respond(to request: ATTPDU, on bearer: inout ATTBearer) throws(Refusal) -> ATTPDU {
    switch request {
    case .exchangeMTURequest(let client):
      bearer.exchangeMTU(client: client, server: mtu)
      return .exchangeMTUResponse(mtu: mtu)
    case .findInformationRequest(let range):
      return try findInformation(range, on: bearer)
    case .findByTypeValueRequest(let range, let type, let value):
      return try findByTypeValue(range, type: .short(type), value: value, on: bearer)
    case .readByTypeRequest(let range, let type):
      return try readByType(range, type: bearer.found(type), on: bearer)
    case .readByGroupTypeRequest(let range, let type):
      return try readByGroupType(range, type: bearer.found(type), on: bearer)
    case .readRequest(let handle):
      return .readResponse(try read(handle, offset: 0, on: bearer))
    case .readBlobRequest(let handle, let offset):
      return .readBlobResponse(try read(handle, offset: Int(offset), on: bearer))
    case .writeRequest(let handle, let value):
      try write(value, to: handle, on: &bearer)
      return .writeResponse
    case .prepareWriteRequest(let handle, let offset, let value):
      try prepare(ATTBearer.Part(handle: handle, offset: Int(offset), value: value), on: &bearer)
      return .prepareWriteResponse(handle: handle, offset: offset, value: value)
    case .executeWriteRequest(let flag):
      try execute(flag, on: &bearer)
      return .executeWriteResponse
    case .errorResponse, .exchangeMTUResponse, .findInformationResponse, .findByTypeValueResponse,
      .readByTypeResponse, .readResponse, .readBlobResponse, .readByGroupTypeResponse, .writeResponse,
      .prepareWriteResponse, .executeWriteResponse, .handleValueNotification, .handleValueIndication,
      .handleValueConfirmation, .writeCommand, .unknown:
      // `Opcode` has handled these.
      throw Refusal(.requestNotSupported, handle: 0)
    }
  }

  // MARK: Shared by the extensions

  /// Why a request is answered by Error Response, and for which handle; 0 if it concerns none.
  struct Refusal: Error, Equatable {
    var code: ATTError
    var handle: UInt16

    init(_ code: ATTError, handle: UInt16) {
      self.code = code
      self.handle = handle
    }
  }

  /// The value of a readable attribute.
  func value(of attribute: AttributeTable.Attribute, on bearer: ATTBearer) -> [UInt8] {
    switch attribute.content {
    case .fixed(let bytes): bytes
    case .count: store.count.littleEndianBytes
    case .cccd(let subscription): bearer.cccd(of: subscription).littleEndianBytes
    case .data, .hidden: []
    }
  }
}

extension ATTBearer {
  /// The type that a request finds. Source: PROTOCOL.md ATT-9.
  fileprivate func found(_ type: BluetoothUUID) -> BluetoothUUID {
    model.traits.findsLongForms ? type.shortest : type
  }
}

/// The server's view of opcodes. Source: PROTOCOL.md ATT-15.
extension ATTOpcode {
  /// Whether it is a request: not a command (bit 6), not a PDU that only a server sends, and not a
  /// confirmation.
  fileprivate static func isAnswered(_ opcode: UInt8) -> Bool {
    if opcode & 0x40 != 0 { return false }
    switch ATTOpcode(rawValue: opcode) {
    case .errorResponse, .exchangeMTUResponse, .findInformationResponse, .findByTypeValueResponse,
      .readByTypeResponse, .readResponse, .readBlobResponse, .readMultipleResponse, .readByGroupTypeResponse,
      .writeResponse, .prepareWriteResponse, .executeWriteResponse, .readMultipleVariableResponse:
      return false
    case .handleValueNotification, .handleValueIndication, .handleValueConfirmation,
      .multipleHandleValueNotification:
      return false
    default: return true
    }
  }

  /// Whether the server knows the request.
  fileprivate static func isSupported(_ opcode: UInt8) -> Bool {
    switch ATTOpcode(rawValue: opcode) {
    case .exchangeMTURequest, .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest,
      .readRequest, .readBlobRequest, .readByGroupTypeRequest, .writeRequest, .prepareWriteRequest,
      .executeWriteRequest:
      true
    default: false
    }
  }
}
