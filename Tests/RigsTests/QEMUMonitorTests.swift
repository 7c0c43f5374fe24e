import Glibc
import NIOCore
import NIOPosix
import SerialLink
import Testing

@testable import Rigs

/// The monitor against a peer that sends scripted text.
@Suite(.serialized) struct QEMUMonitorTests {
  /// The other end of a conversation.
  private final class Peer: Sendable {
    let descriptor: Int32

    init(copyOf descriptor: Int32) { self.descriptor = dup(descriptor) }
    deinit { close(descriptor) }

    func say(_ text: String) {
      var text = text
      text.withUTF8 { _ = write(descriptor, $0.baseAddress, $0.count) }
    }

    /// The next line. Waits for it on a thread of the blocking pool.
    func receive() async throws -> String {
      try await NIOSingletons.posixBlockingThreadPool.runIfActive { [self] in
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(descriptor, &bytes, bytes.count)
        return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
      }
    }

    func hangUp() { shutdown(descriptor, Int32(SHUT_RDWR)) }
  }

  private func withMonitor(_ body: (QEMUMonitor, Peer) async throws -> Void) async throws {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let made = loop.makePromise(of: LineConversation.self)
    let (channel, peer) = try await UnixSocket.pair(on: loop) { channel in
      made.succeed(try LineConversation(addingTo: channel))
    } _: { end throws(PortError) in
      Peer(copyOf: end)
    }
    try await body(QEMUMonitor(conversation: try await made.futureResult.get()), peer)
    try? await channel.close()
  }

  /// The id of a command.
  private func id(in command: String) -> String {
    String(command.split(separator: "\"id\":").last?.prefix { $0.isNumber } ?? "")
  }

  @Test func `the greeting is answered by the capabilities command`() async throws {
    try await withMonitor { monitor, peer in
      // Sent before the first wait, as QEMU can do.
      peer.say(#"{"QMP": {"version": {}, "capabilities": []}}"# + "\r\n")
      try await monitor.conversation.channel.eventLoop.submit {}.get()
      async let begun: Void = monitor.begin()
      let command = try await peer.receive()
      #expect(command.hasPrefix(#"{"execute":"qmp_capabilities","id":"#))
      peer.say(#"{"return": {}, "id": \#(id(in: command))}"# + "\r\n")
      try await begun
    }
  }

  @Test func `an answer to another command and events are skipped`() async throws {
    try await withMonitor { monitor, peer in
      async let done = monitor.execute("system_reset", event: "RESET")
      let command = try await peer.receive()
      peer.say(#"{"return": {}, "id": 0}"# + "\n" + #"{"event": "STOP"}"# + "\nnot JSON\n")
      peer.say(#"{"event": "RESET", "data": {"guest": false}}"# + "\n")
      peer.say(#"{"return": {}, "id": \#(id(in: command))}"# + "\n")
      _ = try await done
    }
  }

  @Test func `a refusal is reported in QEMU's words`() async throws {
    try await withMonitor { monitor, peer in
      async let done = monitor.execute("cont")
      let command = try await peer.receive()
      peer.say(
        #"{"error": {"class": "GenericError", "desc": "no machine"}, "id": \#(id(in: command))}"# + "\n")
      do {
        _ = try await done
        Issue.record("the refusal was taken for success")
      } catch let error as Failure {
        #expect(error.message == "QEMU refuses 'cont': no machine")
      }
    }
  }

  @Test func `pending and later requests fail when QEMU ends`() async throws {
    try await withMonitor { monitor, peer in
      async let done = monitor.execute("stop")
      _ = try await peer.receive()
      peer.hangUp()
      do {
        _ = try await done
        Issue.record("no answer was taken for success")
      } catch let error as Failure {
        #expect(error == .qemuEnded)
      }
      await #expect(throws: Failure.qemuEnded) { try await monitor.execute("cont") }
    }
  }

  @Test func `a peer that sends nothing is reported as silent after the timeout`() async throws {
    try await withMonitor { monitor, _ in
      await #expect(throws: Failure.qemuSilent) {
        _ = try await monitor.conversation.ask("hello", within: .milliseconds(20), wanted: [{ _ in true }])
      }
    }
  }

  @Test func `a line without an end closes the conversation`() async throws {
    try await withMonitor { monitor, peer in
      async let done = monitor.execute("stop")
      _ = try await peer.receive()
      peer.say(String(repeating: "x", count: LineExchange.lineLimitBytes / 2))
      peer.say(String(repeating: "x", count: LineExchange.lineLimitBytes / 2 + 1))
      do {
        _ = try await done
        Issue.record("no answer was taken for success")
      } catch let error as Failure {
        #expect(error == .qemuEnded)
      }
    }
  }
}
