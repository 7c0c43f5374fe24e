import Foundation
import Glibc
import NIOCore
import NIOEmbedded
import Testing

@testable import Conformance
@testable import Rigs

/// How lateness is measured: the kernel's statistics, the beats, the reads of a line.
@Suite struct LatenessMeterTests {
  private typealias Sample = LatenessRecord.Sample

  @Test func `the longest wait of a thread in a beat is the lateness of its process`() {
    var record = LatenessRecord()
    record.begin(with: Sample(bench: [1: 5_000_000, 2: 0], peer: [7: 1_000_000]))
    record.addBeat(delay: .zero, Sample(bench: [1: 6_000_000, 2: 3_000_000], peer: [7: 1_500_000]))
    #expect(record.worst == Lateness(bench: .milliseconds(3), peer: .microseconds(500)))
    record.addBeat(delay: .zero, Sample(bench: [1: 6_000_000, 2: 4_000_000], peer: [7: 9_500_000]))
    #expect(record.worst == Lateness(bench: .milliseconds(3), peer: .milliseconds(8)))
  }

  @Test func `lateness before the window does not count`() {
    var record = LatenessRecord()
    record.addBeat(delay: .seconds(1), Sample(bench: [1: 1_000_000_000]))
    #expect(record.worst == Lateness())
    record.begin(with: Sample(bench: [1: 2_000_000_000]))
    record.addBeat(delay: .zero, Sample(bench: [1: 2_000_000_000]))
    #expect(record.worst == Lateness())
  }

  @Test func `a new thread has waited since it started, an ended one has not`() {
    var record = LatenessRecord()
    record.begin(with: Sample(bench: [1: 9_000_000]))
    record.addBeat(delay: .zero, Sample(bench: [2: 4_000_000]))
    #expect(record.worst.bench == .milliseconds(4))
    // The kernel reuses ids.
    record.addBeat(delay: .zero, Sample(bench: [2: 1_000_000]))
    #expect(record.worst.bench == .milliseconds(4))
  }

  @Test func `a late beat is lateness that the statistics do not show`() {
    var record = LatenessRecord()
    record.begin(with: Sample())
    record.addBeat(delay: .milliseconds(40), Sample())
    #expect(record.worst == Lateness(bench: .milliseconds(40)))
  }

  @Test func `calm beats are counted in a row`() {
    var record = LatenessRecord()
    record.begin(with: Sample())
    for _ in 0..<3 { record.addBeat(delay: .milliseconds(1), Sample()) }
    #expect(record.calmBeats == 3)
    record.addBeat(delay: Lateness.limit, Sample())
    #expect(record.calmBeats == 0)
  }

  @Test func `the limit is the sum of both ends`() {
    #expect(Lateness(bench: .milliseconds(4), peer: .milliseconds(5)).isCalm)
    #expect(!Lateness(bench: .milliseconds(5), peer: .milliseconds(5)).isCalm)
  }

  @Test func `a time in a reason is rounded up`() {
    #expect(
      Lateness(bench: .microseconds(10_001), peer: .microseconds(1)).summary
        == "the bench was up to 11 ms late, the peer up to 1 ms")
    #expect(Lateness(peer: .milliseconds(7)).summary == "the peer was up to 7 ms late")
  }

  @Test func `the kernel's statistics are read thread by thread`() throws {
    let machine = try Accounts()
    try machine.write("100 2500000 4\n", process: 40, thread: "40")
    try machine.write("1 7 1\n", process: 40, thread: "41")
    try machine.write("nonsense", process: 40, thread: "42")
    try machine.write("1 2 3\n", process: 40, thread: "x")
    #expect(SchedulingDelays(root: machine.root).waits(of: 40) == [40: 2_500_000, 41: 7])
    #expect(SchedulingDelays(root: machine.root).waits(of: 41) == [:])
  }

  @Test func `a reading for all boards is replaced by one that has to be of now`() throws {
    let machine = try Accounts()
    let recent = RecentDelays(SchedulingDelays(root: machine.root))
    try machine.write("0 1 1\n", process: 40, thread: "40")
    #expect(recent.waits(of: 40, isNow: false) == [40: 1])
    try machine.write("0 2 1\n", process: 40, thread: "40")
    #expect(recent.waits(of: 40, isNow: true) == [40: 2])
    #expect(recent.waits(of: 40, isNow: false) == [40: 2])
  }

  @Test func `the waits since the last call are those of the thread that waited longest`() throws {
    let machine = try Accounts()
    try machine.write("0 1000 1\n", process: 40, thread: "40")
    var waits = ProcessorWaits(SchedulingDelays(root: machine.root), of: 40)
    try machine.write("0 3000 1\n", process: 40, thread: "40")
    try machine.write("0 500 1\n", process: 40, thread: "41")
    #expect(waits.next() == .nanoseconds(2000))
    #expect(waits.next() == .zero)
    try machine.write("0 5000 1\n", process: 40, thread: "41")
    #expect(waits.next() == .nanoseconds(4500))
  }

  @Test func `this kernel keeps statistics of this process`() {
    #expect(SchedulingDelays().waits(of: getpid())[getpid()] != nil)
  }

  @Test func `a window's lateness is the wait of both processes in it`() async throws {
    let machine = try Accounts()
    try machine.write("0 1000000 1\n", process: getpid(), thread: "1")
    try machine.write("0 1000000 1\n", process: 40, thread: "40")
    let meter = LatenessMeter(peers: [40], delays: RecentDelays(SchedulingDelays(root: machine.root)))
    await meter.beginWindow()
    try machine.write("0 9001000000 2\n", process: getpid(), thread: "1")
    try machine.write("0 8001000000 2\n", process: 40, thread: "40")
    let lateness = await meter.endWindow()
    // The beats of this computer are never that late.
    #expect(lateness == Lateness(bench: .seconds(9), peer: .seconds(8)))
    await meter.beginWindow()
    #expect(await meter.endWindow().peer == .zero)
  }

  @Test func `a wait for calm ends`() async throws {
    let machine = try Accounts()
    let meter = LatenessMeter(peers: [], delays: RecentDelays(SchedulingDelays(root: machine.root)))
    await meter.awaitCalm()
    await meter.beginWindow()
    _ = await meter.endWindow()
  }

  @Test func `a cancelled task does not wait for calm`() async throws {
    let machine = try Accounts()
    try machine.write("0 0 1\n", process: getpid(), thread: "1")
    let meter = LatenessMeter(peers: [], delays: RecentDelays(SchedulingDelays(root: machine.root)))
    let waiting = Task { await meter.awaitCalm() }
    waiting.cancel()
    #expect(await !waiting.value)
  }

  @Test func `a read that waits knows when it should have ended`() async throws {
    let channel = EmbeddedChannel()
    let inbox = ChannelInbox(loop: channel.eventLoop)
    try channel.pipeline.syncOperations.addHandler(inbox)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(3))
    let inTime = inbox.read(for: .milliseconds(10))
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(4))
    try channel.writeInbound(ByteBuffer(bytes: [1]))
    #expect(try await inTime.get().time == .uptimeNanoseconds(7_000_000))
    let none = inbox.read(for: .milliseconds(10))
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(50))
    #expect(try await none.get().bytes == [])
    #expect(try await none.get().time == .uptimeNanoseconds(17_000_000))
    try channel.writeInbound(ByteBuffer(bytes: [2]))
    let there = try await inbox.read(for: .milliseconds(10)).get()
    #expect(there.bytes == [2] && there.time == nil)
  }
}

/// A folder in the format of the kernel's process statistics; it is removed with this value.
private final class Accounts {
  let root: String

  init() throws {
    root = NSTemporaryDirectory() + "accounts-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: root) }

  func write(_ text: String, process: Int32, thread: String) throws {
    let folder = "\(root)/\(process)/task/\(thread)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/schedstat"), options: .atomic)
  }
}
