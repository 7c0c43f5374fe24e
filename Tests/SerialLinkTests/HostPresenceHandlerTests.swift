import Glibc
import NIOCore
import NIOEmbedded
import Testing

@testable import SerialLink

struct HostPresenceHandlerTests {
  /// Records the events of the master's channel.
  private final class Recorder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    var received: [HostPresence] = []

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if let presence = event as? HostPresence { received.append(presence) }
    }
  }

  /// Whether another process has the port open, set by the test.
  private final class Neighbour {
    var isThere = false
  }

  /// `struct inotify_event` without a name.
  private func event(_ mask: Int, of watch: Int32 = 1) -> ByteBuffer {
    var buffer = ByteBuffer()
    buffer.writeMultipleIntegers(watch, UInt32(mask), UInt32(0), UInt32(0), endianness: .host)
    return buffer
  }

  private func makeWatched(_ neighbour: Neighbour) throws -> (EmbeddedChannel, Recorder) {
    let recorder = Recorder()
    let master = EmbeddedChannel(handler: recorder)
    let handler = HostPresenceHandler(-1) { _ in neighbour.isThere }
    handler.follow(HostPresenceHandler.Terminal(master: master, path: "/dev/pts/9"), as: 1)
    return (EmbeddedChannel(handler: handler), recorder)
  }

  @Test func `the first open attaches and the last close detaches`() throws {
    let (watch, recorder) = try makeWatched(Neighbour())
    try watch.writeInbound(event(Int(IN_OPEN)))
    try watch.writeInbound(event(Int(IN_OPEN)))
    try watch.writeInbound(event(Int(IN_CLOSE_WRITE)))
    #expect(recorder.received == [.attached])
    try watch.writeInbound(event(Int(IN_CLOSE_NOWRITE)))
    #expect(recorder.received == [.attached, .detached])
  }

  @Test func `if the kernel merged two opens into one, the first close does not detach`() throws {
    let neighbour = Neighbour()
    let (watch, recorder) = try makeWatched(neighbour)
    try watch.writeInbound(event(Int(IN_OPEN)))
    neighbour.isThere = true
    try watch.writeInbound(event(Int(IN_CLOSE_WRITE)))
    #expect(recorder.received == [.attached])
    neighbour.isThere = false
    try watch.writeInbound(event(Int(IN_CLOSE_WRITE)))
    #expect(recorder.received == [.attached, .detached])
  }

  @Test func `a host that opens the port at once after another one closed it is a new one`() throws {
    let neighbour = Neighbour()
    let (watch, recorder) = try makeWatched(neighbour)
    try watch.writeInbound(event(Int(IN_OPEN)))
    // The close is read late: the next host has the port open already.
    neighbour.isThere = true
    try watch.writeInbound(event(Int(IN_CLOSE_WRITE)))
    try watch.writeInbound(event(Int(IN_OPEN)))
    #expect(recorder.received == [.attached, .replaced])
    neighbour.isThere = false
    try watch.writeInbound(event(Int(IN_CLOSE_WRITE)))
    #expect(recorder.received == [.attached, .replaced, .detached])
  }

  @Test func `a terminal gets its own events only`() throws {
    let (watch, recorder) = try makeWatched(Neighbour())
    try watch.writeInbound(event(Int(IN_OPEN), of: 2))
    #expect(recorder.received.isEmpty)
    let other = Recorder()
    let handler = try watch.pipeline.syncOperations.handler(type: HostPresenceHandler.self)
    handler.follow(.init(master: EmbeddedChannel(handler: other), path: "/dev/pts/8"), as: 2)
    try watch.writeInbound(event(Int(IN_OPEN)))
    try watch.writeInbound(event(Int(IN_OPEN), of: 2))
    try watch.writeInbound(event(Int(IN_CLOSE_WRITE), of: 2))
    #expect(recorder.received == [.attached])
    #expect(other.received == [.attached, .detached])
  }

  @Test func `a split event is read when its rest arrives`() throws {
    let (watch, recorder) = try makeWatched(Neighbour())
    var whole = event(Int(IN_OPEN))
    let head = whole.readSlice(length: 7)
    try watch.writeInbound(#require(head))
    #expect(recorder.received.isEmpty)
    try watch.writeInbound(whole)
    #expect(recorder.received == [.attached])
  }
}
