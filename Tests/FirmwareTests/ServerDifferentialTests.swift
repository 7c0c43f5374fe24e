import NotibotProtocol
import Testing

@testable import DeviceEmulator

/// The same requests to the Swift attribute server and the C one: the same answers, notifications
/// and store.
@Suite struct ServerDifferentialTests {
  /// Requests to one pair of servers, before a pair of another kind takes over.
  static let requestsEach = 300

  @Test func `both servers have the same answers`() {
    var requests = RandomPDU(seed: Differential.seed &+ 2)
    var answered = 0
    for round in 0..<(Differential.pdus / Self.requestsEach) {
      var pair = ServerPair(round: round)
      var last: [[UInt8]] = []
      for _ in 0..<Self.requestsEach {
        let pdu = requests.next()
        let item = requests.number(below: 40)
        let difference = item < 8 ? pair.dismiss(UInt32(item)) : pair.ask(pdu)
        last = last.suffix(12) + [pdu]
        guard let difference else {
          answered += 1
          continue
        }
        Issue.record(
          "round \(round), seed \(Differential.seed): \(difference)\nafter \(last.map { hex($0) })")
        return
      }
    }
    #expect(answered > Differential.pdus * 9 / 10)
  }
}

/// The two servers of one round.
struct ServerPair {
  private var server: ATTServer
  private let firmware: FirmwareServer
  /// The last answer of both; nil: none.
  private(set) var lastAnswer: [UInt8]?

  init(round: Int) {
    let mtu: UInt16 = [517, 185, 23, 528][round % 4]
    let capacity = [2, 5, 64][round % 3]
    let isFirmwareMode = round % 7 == 6
    let keysInUse = !isFirmwareMode && round % 5 != 4
    let source: UInt32 = round % 2 == 0 ? 1 : 0
    server = ATTServer(
      mtu: mtu, mode: isFirmwareMode ? .firmware : .strict,
      store: NotificationStore(capacity: capacity, policy: .refuseWhenFull))
    server.open(
      .serial, features: keysInUse ? [.pipelinedRequests, .optionalKeys] : [.pipelinedRequests],
      source: source == 0 ? nil : source)
    firmware = FirmwareServer(
      mtu: mtu, capacity: UInt16(capacity), keysInUse: keysInUse, isFirmwareMode: isFirmwareMode,
      source: source)
  }

  /// The difference between the two; nil if they agree.
  mutating func ask(_ pdu: [UInt8]) -> String? {
    let expected = server.receive(pdu, on: .serial)
    let seen = firmware.ask(pdu)
    lastAnswer = seen
    guard expected == seen else {
      return
        "to \(hex(pdu)) Swift answers \(expected.map { hex($0) } ?? "nothing"), C \(seen.map { hex($0) } ?? "nothing")"
    }
    return compareNotifications(after: "\(hex(pdu))")
  }

  mutating func dismiss(_ item: UInt32) -> String? {
    let identity = server.store.notification(Int(item))?.identity
    let expected = server.changeStore { $0.dismiss(item: Int(item)) }
    if expected, identity == nil { server.notify(DeviceEvent.dismissed(item: item).encoded()) }
    let seen = firmware.dismiss(item)
    guard expected == seen else { return "dismissal of \(item): Swift \(expected), C \(seen)" }
    return compareNotifications(after: "the dismissal of \(item)")
  }

  private mutating func compareNotifications(after cause: String) -> String? {
    var expected: [[UInt8]] = []
    while let outgoing = server.nextUnsolicited(for: .serial) { expected.append(outgoing.payload) }
    let seen = firmware.drainNotifications()
    guard expected != seen else { return nil }
    return "after \(cause) Swift sends \(expected.map { hex($0) }), C \(seen.map { hex($0) })"
  }
}
