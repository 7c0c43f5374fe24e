import NotibotProtocol
import Testing

@testable import NotibotHost

/// The two windows of a session, alone. Source: PROTOCOL.md LNK-31 to LNK-34, LNK-40 to
/// LNK-51.
struct LinkOrderWindowTests {
  @Test func `frames held stay within the bytes that were granted`() {
    var window = ReceiveWindow(frames: 64, bytes: 1080)
    let item = ReceiveWindow.Item(channel: .att, payload: [UInt8](repeating: 1, count: 528))
    let verdicts = (UInt8(1)...4).map { window.receive(sequence: $0, item: item, now: .zero) { _ in } }
    // A frame of 540 decoded bytes, twice.
    #expect(verdicts == [.held(needsNAK: true), .held(needsNAK: false), .outOfWindow, .outOfWindow])
    var delivered = 0
    #expect(window.receive(sequence: 0, item: item, now: .zero) { _ in delivered += 1 } == .delivered)
    #expect(delivered == 3)
    #expect(!window.isHolding)
    let further = (UInt8(4)...6).map { window.receive(sequence: $0, item: item, now: .zero) { _ in } }
    #expect(further == [.held(needsNAK: true), .held(needsNAK: false), .outOfWindow])
  }

  @Test func `64 payloads wait for credit, and no more`() {
    var window = SendWindow(peerFrames: 64, peerBytes: 1_000_000, credit: 0)
    let taken = (0..<66).map { _ in window.enqueue(channel: .att, payload: [1]) }
    #expect(taken == Array(repeating: true, count: 64) + [false, false])
  }

  @Test func `held frames are not under way`() {
    var window = SendWindow(peerFrames: 64, peerBytes: 1_000_000, credit: 64)
    for _ in 0..<3 { _ = window.enqueue(channel: .att, payload: [1]) }
    while window.sendNext(now: .zero) != nil {}
    #expect(window.underWayBytes == 3 * 13)
    _ = window.resendLost(held: 0b1)
    #expect(window.underWayBytes == 2 * 13)
    _ = window.resendAll()
    #expect(window.underWayBytes == 3 * 13)
  }

  @Test func `no round trip is measured while a frame that was sent twice is unacknowledged`() {
    var window = SendWindow(peerFrames: 64, peerBytes: 1_000_000, credit: 64)
    for _ in 0..<3 { _ = window.enqueue(channel: .att, payload: [1]) }
    let sentAt = Instant.zero + .milliseconds(3)
    for _ in 0..<2 { _ = window.sendNext(now: sentAt) }
    _ = window.resendLost(held: 0b1)
    _ = window.sendNext(now: sentAt)
    let samples = (UInt8(1)...3).map {
      window.acknowledge(ack: $0, credit: 64, now: .zero + .milliseconds(10))?.sampleNs
    }
    #expect(samples == [nil, 7_000_000, 7_000_000])
    for _ in 0..<3 { _ = window.enqueue(channel: .att, payload: [1]) }
    for _ in 0..<3 { _ = window.sendNext(now: sentAt) }
    _ = window.resendLost(held: 0b10)
    let further = (UInt8(4)...6).map {
      window.acknowledge(ack: $0, credit: 64, now: .zero + .milliseconds(10))?.sampleNs
    }
    #expect(further == [nil, nil, 7_000_000])
  }

  @Test func `more than 64 of credit counts as 64`() {
    var window = SendWindow(peerFrames: 64, peerBytes: 1_000_000, credit: 255)
    #expect(window.limit == 64)
    _ = window.acknowledge(ack: 0, credit: 255, now: .zero)
    #expect(window.limit == 64)
  }

  @Test func `less credit than before moves nothing`() {
    var window = SendWindow(peerFrames: 64, peerBytes: 1_000_000, credit: 10)
    let moves = [UInt8(5), 10, 11].map { window.acknowledge(ack: 0, credit: $0, now: .zero)?.hasMoved }
    #expect(moves == [false, false, true])
    #expect(window.limit == 11)
  }

  // MARK: To the byte

  private static let frameBytes = 3 + 12

  private func makeWindow(frames: Int) -> SendWindow {
    var window = SendWindow(peerFrames: 16, peerBytes: 3 * Self.frameBytes, credit: 16)
    for _ in 0..<frames { _ = window.enqueue(channel: .att, payload: [0x0A, 3, 0]) }
    return window
  }

  @Test func `frames that fill the peer's bytes exactly are sent, and no more`() {
    var window = makeWindow(frames: 4)
    for number in 0..<3 { #expect(window.sendNext(now: .zero)?.number == number) }
    #expect(window.sendNext(now: .zero) == nil)
    #expect(window.underWayBytes == 3 * Self.frameBytes)
  }

  @Test func `acknowledged frames are no longer under way, held ones are not subtracted twice`() {
    var window = makeWindow(frames: 3)
    for _ in 0..<3 { _ = window.sendNext(now: .zero) }
    _ = window.resendLost(held: 0b01)
    #expect(window.underWayBytes == 2 * Self.frameBytes)
    _ = window.acknowledge(ack: 2, credit: 16, now: .zero)
    #expect(window.underWayBytes == Self.frameBytes)
    _ = window.acknowledge(ack: 3, credit: 16, now: .zero)
    #expect(window.underWayBytes == 0)
  }

  @Test func `held frames count with header and CRC`() {
    var window = ReceiveWindow(frames: 16, bytes: 2 * Self.frameBytes)
    let item = ReceiveWindow.Item(channel: .att, payload: [0x0A, 3, 0])
    let verdicts = (1...3).map { window.receive(sequence: $0, item: item, now: .zero) { _ in } }
    #expect(verdicts == [.held(needsNAK: true), .held(needsNAK: false), .outOfWindow])
  }

  @Test func `two frames or more are acknowledged at once`() {
    for count in 1...4 {
      var window = ReceiveWindow(frames: 16, bytes: 4096)
      let item = ReceiveWindow.Item(channel: .att, payload: [0x0A, 3, 0])
      for number in 0..<count {
        _ = window.receive(sequence: UInt8(number), item: item, now: .zero) { _ in }
      }
      #expect(window.owesAck(now: .zero) == (count >= 2), "\(count) frames")
    }
  }
}
