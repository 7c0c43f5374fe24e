import CSerialShim
import Foundation
import Glibc
import NIOCore
import NIOPosix
import Testing

@testable import SerialLink

@Suite struct TiedProcessTests {
  /// Whether `pid` is still in the process table.
  private func exists(_ pid: Int32) -> Bool { kill(pid, 0) == 0 }

  @Test func `a program runs until it is stopped, and leaves no entry`() async throws {
    let process = try await TiedProcess.start("/bin/sleep", arguments: ["600"])
    #expect(exists(process.pid))
    await process.stop()
    #expect(!exists(process.pid))
    // Its pid can be reused by now.
    await process.stop()
  }

  @Test func `a cancelled task leaves no entry either`() async throws {
    let process = try await TiedProcess.start("/bin/sleep", arguments: ["600"])
    let stopping = Task {
      await Task.yield()
      await process.stop()
    }
    stopping.cancel()
    await stopping.value
    #expect(!exists(process.pid))
  }

  @Test func `what a program has started ends with it`() async throws {
    let process = try await TiedProcess.start("/bin/sh", arguments: ["-c", "sleep 600 & echo >&2; wait"])
    // Its end is the end of its standard error, which the second process has as well.
    await process.stop()
    #expect(try await process.ended.get().utf8.count <= 1)
  }

  @Test func `the last output of a program is reported when it has ended`() async throws {
    let process = try await TiedProcess.start(
      "/bin/sh", arguments: ["-c", "echo out; echo no such image >&2"])
    #expect(try await process.ended.get() == "no such image\n")
    await process.stop()
  }

  @Test func `of a long output the end is kept`() async throws {
    let script = "i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i + 1)); done"
    let process = try await TiedProcess.start("/bin/sh", arguments: ["-c", script])
    let said = try await process.ended.get()
    #expect(said.utf8.count <= TiedProcess.outputLimitBytes)
    #expect(said.hasSuffix("line 2999\n"))
    await process.stop()
  }

  @Test func `a missing program is an error with its reason`() async throws {
    let error = await #expect(throws: PortError.self) {
      _ = try await TiedProcess.start("/nowhere/program", arguments: [])
    }
    #expect(error?.description == "cannot start /nowhere/program: No such file or directory (errno 2)")
  }

  @Test func `descriptors are passed from 3 on, and no others`() async throws {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let heard = loop.makePromise(of: String.self)
    // Not close-on-exec, but the program must not get it.
    let stray = Glibc.open("/dev/null", O_RDONLY)
    defer { _ = close(stray) }
    let (channel, process) = try await UnixSocket.pair(on: loop) { channel in
      try channel.pipeline.syncOperations.addHandler(WholeText(heard: heard))
    } _: { end throws(PortError) in
      try await TiedProcess.start(
        "/bin/sh", arguments: ["-c", "exec 1>&3; cd /proc/self/fd && echo *"], descriptors: [end])
    }
    let numbers = try await heard.futureResult.get().split(whereSeparator: \.isWhitespace)
    // The shell opens the directory itself.
    #expect(numbers.compactMap { Int($0) }.filter { $0 < 10 && $0 != 4 } == [0, 1, 2, 3])
    #expect(!numbers.contains("\(stray)") || stray < 5)
    await process.stop()
    try? await channel.close()
  }

  @Test func `a program with an input reads it until the other end closes`() async throws {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let heard = loop.makePromise(of: String.self)
    let (channel, process) = try await UnixSocket.pair(on: loop) { channel in
      try channel.pipeline.syncOperations.addHandler(WholeText(heard: heard))
    } _: { end throws(PortError) in
      try await TiedProcess.start("/bin/cat", arguments: [], input: end, output: end)
    }
    try await channel.writeAndFlush(ByteBuffer(string: "echo"))
    try await channel.close(mode: .output)
    #expect(try await heard.futureResult.get() == "echo")
    #expect(await process.exitCode(within: .seconds(60)) == 0)
    try? await channel.close()
  }

  @Test func `too many descriptors are refused, not passed`() async throws {
    let many = [Int32](repeating: 0, count: Int(SERIAL_SHIM_SPAWN_DESCRIPTORS_LIMIT))
    await #expect(throws: PortError.self) {
      _ = try await TiedProcess.start("/bin/true", arguments: [], descriptors: many)
    }
  }
}

/// All bytes until the other end closed.
private final class WholeText: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  private let heard: EventLoopPromise<String>
  private var text = ""

  init(heard: EventLoopPromise<String>) { self.heard = heard }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    text += String(buffer: unwrapInboundIn(data))
  }

  func channelInactive(context: ChannelHandlerContext) { heard.succeed(text) }
}
