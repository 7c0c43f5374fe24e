import DequeModule
import NotibotProtocol

/// An action for the owner of an attribute client.
enum ATTAction: Equatable, Sendable {
  case completed(HostRequestID, HostResult)
  case event(HostEvent)
  /// MTU and handles are known; requests flow.
  case ready
  /// The bearer is unusable; the owner ends the session.
  case failed(SessionEnd)
}

/// Counters of an attribute client since its creation.
package struct ATTStatistics: Equatable, Sendable {
  package var requests = 0
  package var responses = 0
  package var errorResponses = 0
  var answers: Int { responses + errorResponses }
  package var notifications = 0
  /// Answers without a request, and PDUs that a client cannot use.
  package var ignored = 0

  package init() {}
}

/// The attribute client of one device: one request pipeline, over one bearer at a time.
///
/// States: *down* → `open` → *preparing* (Exchange MTU, then discovery unless the profile is known)
/// → *ready* → `end` → *down*. Requests may be submitted while *preparing*; they wait. In *down*
/// they fail. Source: PROTOCOL.md section 3.
struct ATTClient: Equatable, Sendable {
  enum State: Equatable {
    case down(SessionEnd)
    case preparing
    case ready(AttributeHandles)
  }

  /// The limits of a bearer.
  struct Bearer: Equatable {
    /// Requests in flight, at most (ATT-6).
    var requestsLimit: Int
    /// The MTU that this side announces.
    var mtu: UInt16
    var isProfileKnown: Bool
    /// Whether the keys of NTF-20 are written.
    var hasOptionalKeys = false
  }

  enum Operation: Equatable {
    case exchangeMTU
    case discover(Discovery)
    case readCount
    /// A Write Request for Data with the usual handle, which is replaced by the real one on
    /// sending.
    case write(pdu: [UInt8])
    case writeLong(LongWrite)
    case subscribe(Subscriptions)
    case raw([UInt8])
    /// No PDU: a message for the session's own channel, which keeps its place among the requests
    /// (NTF-31).
    case message([UInt8])
  }

  /// An outgoing payload and its channel.
  enum Outgoing: Equatable {
    case pdu([UInt8])
    case message([UInt8])
  }

  /// A queued request; without an id it is the client's own.
  struct Waiting: Equatable {
    var id: HostRequestID?
    var operation: Operation
  }

  /// A request that was sent.
  struct Outstanding: Equatable {
    var id: HostRequestID?
    var operation: Operation
    var opcode: UInt8
    var isBarrier: Bool
    var sentAt: Instant
  }

  static let transactionLimitNs: Int64 = 30_000_000_000

  let waitingLimit: Int
  var state = State.down(.closed)
  var bearer = Bearer(requestsLimit: 1, mtu: NotibotProfile.firstMTU, isProfileKnown: false)
  /// The largest PDU of either side on this bearer, in bytes.
  var mtu = Int(NotibotProfile.firstMTU)
  var waiting = Deque<Waiting>()
  var outstanding = Deque<Outstanding>()
  var actions = Deque<ATTAction>()
  var respondedAt: Instant?
  var statistics = ATTStatistics()

  init(waitingLimit: Int) {
    self.waitingLimit = waitingLimit
  }

  // MARK: Commands

  /// A session is being opened: requests submitted from now on wait for it.
  mutating func expectBearer() {
    state = .preparing
  }

  /// The bearer is ready: learns MTU and handles, then sends requests.
  mutating func open(_ bearer: Bearer) {
    self.bearer = bearer
    mtu = Int(NotibotProfile.firstMTU)
    respondedAt = nil
    state = .preparing
    waiting.prepend(Waiting(id: nil, operation: .exchangeMTU))
  }

  /// Queues a request. `nextAction` returns its result, also if it fails here.
  mutating func submit(_ request: HostRequest, id: HostRequestID) {
    if case .down(let reason) = state { return complete(id, .failed(.notSent(reason))) }
    guard waiting.count < waitingLimit else { return complete(id, .failed(.queueFull)) }
    switch request {
    case .send(let notification):
      let hasOptionalKeys = bearer.hasOptionalKeys
      submitWrite(id: id) { pdu in
        _ =
          hasOptionalKeys
          ? WrittenNotification(notification: notification).encode(into: &pdu)
          : notification.encode(into: &pdu)
      }
    case .sendEncoded(let json): submitWrite(id: id) { pdu in pdu.append(contentsOf: json) }
    case .readCount: waiting.append(Waiting(id: id, operation: .readCount))
    case .subscribe(let subscriptions): waiting.append(Waiting(id: id, operation: .subscribe(subscriptions)))
    case .rawATT(let pdu):
      guard !pdu.isEmpty, pdu.count <= WireLimits.payloadLimitBytes else {
        return complete(id, .failed(.badLength(bytes: pdu.count)))
      }
      waiting.append(Waiting(id: id, operation: .raw(pdu)))
    }
  }

  /// Queues a message for the session's own channel. Returns false, and queues nothing, without a
  /// bearer or when too many requests wait.
  mutating func submitMessage(_ payload: [UInt8]) -> Bool {
    switch state {
    case .down: return false
    case .preparing, .ready: break
    }
    guard waiting.count < waitingLimit else { return false }
    waiting.append(Waiting(id: nil, operation: .message(payload)))
    return true
  }

  private mutating func submitWrite(id: HostRequestID, _ appendValue: (inout [UInt8]) -> Void) {
    var pdu: [UInt8] = []
    pdu.reserveCapacity(Self.writeOverheadBytes + NotibotProfile.dataLimitBytes)
    pdu.append(ATTOpcode.writeRequest.rawValue)
    pdu.appendLittleEndian(NotibotProfile.Handle.data)
    appendValue(&pdu)
    let lengthBytes = pdu.count - Self.writeOverheadBytes
    guard lengthBytes <= NotibotProfile.dataLimitBytes else {
      return complete(id, .failed(.badLength(bytes: lengthBytes)))
    }
    waiting.append(Waiting(id: id, operation: .write(pdu: pdu)))
  }

  /// The bearer is lost: sent requests have an unknown outcome, queued ones were not sent.
  mutating func end(_ reason: SessionEnd) {
    state = .down(reason)
    for request in outstanding { complete(request.id, .failed(.outcomeUnknown(reason))) }
    outstanding.removeAll()
    for request in waiting {
      let isBegun =
        switch request.operation {
        case .writeLong: true
        case .exchangeMTU, .discover, .readCount, .write, .subscribe, .raw, .message: false
        }
      complete(request.id, .failed(isBegun ? .outcomeUnknown(reason) : .notSent(reason)))
    }
    waiting.removeAll()
  }

  // MARK: Outputs

  mutating func nextAction() -> ATTAction? {
    actions.popFirst()
  }

  var hasActions: Bool { !actions.isEmpty }

  var hasWaiting: Bool { !waiting.isEmpty }

  /// When the oldest request times out (ATT-7).
  var nextDeadline: Instant? {
    outstanding.first?.sentAt.after(ns: Self.transactionLimitNs)
  }

  /// When the oldest request was sent, or the last response received if that is later; `nil` if no
  /// request is in flight.
  var waitingSince: Instant? {
    guard let sentAt = outstanding.first?.sentAt else { return nil }
    return max(sentAt, respondedAt ?? sentAt)
  }

  /// Requests of the owner that have no result yet.
  var openRequestsCount: Int {
    waiting.count { $0.id != nil } + outstanding.count { $0.id != nil }
  }

  // MARK: Time

  mutating func handleTimeout(now: Instant) {
    if let deadline = nextDeadline, now >= deadline { actions.append(.failed(.transactionTimedOut)) }
  }

  // MARK: Results

  mutating func complete(_ id: HostRequestID?, _ result: HostResult) {
    guard let id else { return }
    actions.append(.completed(id, result))
  }
}
