import DequeModule
import DeviceEmulator
import Foundation
import NIOCore
import NotibotProtocol
import SerialLink

/// One connection to the socket of `share`, as the server sees it.
///
/// States: *talking*, lines of JSON → *attached*, the bytes of a line; or *leasing*, the bytes of
/// the board's own line.
struct ShareClient {
  enum Stage {
    case talking
    case attached
    case leasing
  }

  /// Payloads for a client that takes none, at most; one with more is dropped.
  static let payloadsLimit = 1024
  /// Console text for a client that takes none, in bytes, at most.
  static let textLimitBytes = 262_144

  /// Lines of JSON for a client that takes none, in bytes, at most: events come without a request.
  static let linesLimitBytes = 65_536
  /// Further requests are not read while there are so many bytes of answers that it does not take,
  static let answersLimitBytes = 16_384
  /// or so many requests without an answer.
  static let operationsLimit = 64

  /// A request of the client, and its answer when there is one: answers leave in order.
  private struct Slot {
    var number: UInt64
    var answer: [UInt8]?
  }

  /// A request in a line of JSON that the board has to answer.
  struct Operation {
    /// What the client calls it.
    var id: Int64?
    /// A verb for an error: "send to".
    var verb: String
    /// The members of a notification that were cut to fit, if any.
    var cutMembers: [String]?
  }

  let id: Int
  let channel: any NIOCore.Channel
  /// The process at the other end: "1234 (notibot watch)".
  let process: PortHolder
  var stage = Stage.talking
  var unread = ByteBuffer()
  /// nil while the board has no session.
  var line: SharedLine?
  /// Counts the sessions of the client, so that an answer does not get into a later one.
  private(set) var session = 0
  private(set) var followsCount = false
  private(set) var followsData = false
  /// Whether its lines of JSON are not read for now.
  var isPaused = false
  /// Whether the client gets events in lines of JSON.
  var followsInLines = false
  private(set) var operations: [UInt64: Operation] = [:]
  private var lines: [UInt8] = []
  private var slots: Deque<Slot> = []
  private var nextSlot: UInt64 = 0
  private var payloads: Deque<(NotibotProtocol.Channel, [UInt8])> = []
  private var text: [UInt8] = []

  init(id: Int, channel: any NIOCore.Channel, process: PortHolder) {
    (self.id, self.channel, self.process) = (id, channel, process)
  }

  /// Whether more is queued than a client that reads can have.
  var isSlow: Bool {
    payloads.count > Self.payloadsLimit || text.count > Self.textLimitBytes
      || lines.count > Self.linesLimitBytes
  }

  /// Whether no further line of JSON is read for now.
  var isFull: Bool { operations.count >= Self.operationsLimit || lines.count >= Self.answersLimitBytes }

  /// Whether an answer of the board is awaited by a line of JSON.
  var isAwaiting: Bool { !operations.isEmpty }

  /// Whether it neither uses the board nor waits for anything.
  var isIdle: Bool { stage == .talking && !isAwaiting && !followsInLines }

  /// Begins another session, or ends one.
  mutating func renew() {
    session += 1
    (followsCount, followsData) = (false, false)
    slots = []
    payloads = []
  }

  // MARK: To the client

  /// A place for the answer to a request.
  mutating func openSlot() -> UInt64 {
    nextSlot += 1
    slots.append(Slot(number: nextSlot))
    return nextSlot
  }

  mutating func answer(_ pdu: [UInt8], in slot: UInt64) {
    guard let index = slots.firstIndex(where: { $0.number == slot }) else { return }
    slots[index].answer = pdu
    while let answer = slots.first?.answer {
      slots.removeFirst()
      if stage == .talking {
        lines += answer
      } else {
        payloads.append((.att, answer))
      }
    }
  }

  /// Answers a line of JSON, after those before it.
  mutating func answer(_ answer: ShareAnswer) { self.answer(answer.shareLine, in: openSlot()) }

  /// A place for the answer of the board to a line of JSON.
  mutating func begin(_ operation: Operation) -> UInt64 {
    let slot = openSlot()
    operations[slot] = operation
    return slot
  }

  /// Answers a line of JSON that waits for the board.
  mutating func finish(_ slot: UInt64, _ result: (Operation) -> ShareAnswer) {
    guard let operation = operations.removeValue(forKey: slot) else { return }
    answer(result(operation).shareLine, in: slot)
  }

  mutating func greet(_ greeting: ShareGreeting) { lines += greeting.shareLine }

  mutating func show(_ event: EventDocument) {
    if stage == .talking, followsInLines { lines += event.shareLine }
  }

  /// A number for an operation without an answer.
  mutating func freshNumber() -> UInt64 {
    nextSlot += 1
    return nextSlot
  }

  mutating func answer(_ pdu: ATTPDU) { answer(pdu.encoded(), in: openSlot()) }

  mutating func send(_ message: SyncMessage) { payloads.append((.link, message.encoded())) }

  mutating func notify(count: UInt16) {
    guard followsCount else { return }
    let value = [UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8)]
    payloads.append(
      (.att, ATTPDU.handleValueNotification(handle: NotibotProfile.Handle.count, value: value).encoded()))
  }

  mutating func notify(_ event: DeviceEvent) {
    guard followsData else { return }
    let value = event.encoded()
    payloads.append(
      (.att, ATTPDU.handleValueNotification(handle: NotibotProfile.Handle.data, value: value).encoded()))
  }

  mutating func print(_ bytes: [UInt8]) {
    if stage == .attached { text += bytes }
  }

  mutating func follow(_ handle: UInt16, _ isFollowing: Bool) {
    if handle == NotibotProfile.Handle.countCCCD {
      followsCount = isFollowing
    } else {
      followsData = isFollowing
    }
  }

  /// The next bytes for the client; empty if there are none.
  mutating func nextBytes() -> [UInt8] {
    while line?.hasRoom == true, let (target, payload) = payloads.popFirst() {
      line?.send(payload, on: target)
    }
    defer { (lines, text) = ([], []) }
    return lines + (line?.nextTransmit() ?? []) + text
  }
}
