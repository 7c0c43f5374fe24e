import Glibc
import NIOCore
import NIOEmbedded
import Testing

@testable import SerialLink

struct HostPresenceHandlerTests {
  /// Keeps what the master's channel is told.
  private final class Recorder: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    var told: [HostPresence] = []

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if let presence = event as? HostPresence { told.append(presence) }
    }
  }

  /// Whether another process has the port open, as a test wants it.
  private final class Neighbour {
    var isThere = false
  }

  /// `struct inotify_event` without a name.
  private func event(_ mask: Int) -> ByteBuffer {
    var buffer = ByteBuffer()
    buffer.writeMultipleIntegers(Int32(1), UInt32(mask), UInt32(0), UInt32(0), endianness: .host)
    return buffer
  }

  private func makeWatched(_ neighbour: Neighbour) throws -> (EmbeddedChannel, Recorder) {
    let recorder = Recorder()
    let master = EmbeddedChannel(handler: recorder)
    let watch = EmbeddedChannel(
      handler: HostPresenceHandler(reportingTo: master, path: "/dev/pts/9") { _ in neighbour.isThere })
    return (watch, recorder)
  }

  @Test func `the first open attaches and the last close detaches`() throws {
    let (watch, recorder) = try makeWatched(Neighbour())
    try watch.writeInbound(event(Int(IN_OPEN)))
    try watch.writeInbound(event(Int(IN_OPEN)))
    try watch.writeInbound(event(Int(IN_CLOSE_WRITE)))
    #expect(recorder.told == [.attached])
    try watch.writeInbound(event(Int(IN_CLOSE_NOWRITE)))
    #expect(recorder.told == [.attached, .detached])
  }

  @Test func `of two opens that the kernel merged into one, the first close does not detach`() throws {
    let neighbour = Neighbour()
    let (watch, recorder) = try makeWatched(neighbour)
    try watch.writeInbound(event(Int(IN_OPEN)))
    neighbour.isThere = true
    try watch.writeInbound(event(Int(IN_CLOSE_WRITE)))
    #expect(recorder.told == [.attached])
    neighbour.isThere = false
    try watch.writeInbound(event(Int(IN_CLOSE_WRITE)))
    #expect(recorder.told == [.attached, .detached])
  }

  @Test func `an event cut in two is read when its rest comes`() throws {
    let (watch, recorder) = try makeWatched(Neighbour())
    var whole = event(Int(IN_OPEN))
    let head = whole.readSlice(length: 7)
    try watch.writeInbound(#require(head))
    #expect(recorder.told.isEmpty)
    try watch.writeInbound(whole)
    #expect(recorder.told == [.attached])
  }
}
