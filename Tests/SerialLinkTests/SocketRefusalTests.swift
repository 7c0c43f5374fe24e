import NIOCore
import NIOEmbedded
import Testing

@testable import SerialLink

/// A server's message that its port is in use, and a device's text that begins like it.
@Suite struct SocketRefusalTests {
  /// The last error in the pipeline.
  private final class Errors: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    var last: PortError.Code?

    func errorCaught(context: ChannelHandlerContext, error: any Error) { last = (error as? PortError)?.code }
  }

  private let errors = Errors()

  private func makeChannel() throws -> EmbeddedChannel {
    let channel = EmbeddedChannel(handlers: [SocketRefusalHandler(port: "socket://bench:1"), errors])
    try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    return channel
  }

  private func receive(_ channel: EmbeddedChannel, _ text: String) throws -> String {
    try channel.writeInbound(ByteBuffer(string: text))
    return try received(channel)
  }

  private func received(_ channel: EmbeddedChannel) throws -> String {
    var text = ""
    while let bytes = try channel.readInbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
    return text
  }

  private let gone = PortError(.deviceGone, port: "socket://bench:1", operation: "read")

  @Test(arguments: ["Port already in use\r\n", "Port already in use"])
  func `the message and the end of the connection are a busy port`(words: String) throws {
    let channel = try makeChannel()
    #expect(try receive(channel, String(words.prefix(5))) == "")
    #expect(try receive(channel, String(words.dropFirst(5))) == "")
    channel.pipeline.fireErrorCaught(gone)
    guard case .serverBusy(let text) = errors.last else {
      Issue.record("expected a busy port, got \(String(describing: errors.last))")
      return
    }
    #expect(text.contains("Port already in use"))
    #expect(try received(channel) == "")
  }

  @Test(
    arguments: [
      (
        [0xFF, 0xFB, 0x03, 0xFF, 0xFB, 0x01, 0xFF, 0xFE, 0x01],
        "this server speaks telnet: use rfc2217://bench:1"
      ),
      ([0xFF, 0xFD, 0x2C, 0xFF, 0xFA, 0x2C], "this server speaks telnet: use rfc2217://bench:1"),
      (Array("SSH-2.0-OpenSSH_9.2\r\n".utf8), "this server speaks SSH: it is not a serial port"),
      (Array("HTTP/1.1 400 Bad Request\r\n".utf8), "this server speaks HTTP: it is not a serial port"),
    ] as [([UInt8], String)])
  func `a server of another protocol is recognised by its first bytes`(bytes: [UInt8], reason: String) throws
  {
    for size in [1, 2, bytes.count] {
      let channel = try makeChannel()
      errors.last = nil
      for start in stride(from: 0, to: bytes.count, by: size) where errors.last == nil {
        try channel.writeInbound(ByteBuffer(bytes: bytes[start..<min(start + size, bytes.count)]))
      }
      #expect(errors.last == .unreachable(reason))
      #expect(try received(channel) == "")
    }
  }

  @Test func `noise that begins like telnet passes`() throws {
    let channel = try makeChannel()
    for byte: UInt8 in [0xFF, 0xFB, 0x03] { try channel.writeInbound(ByteBuffer(bytes: [byte])) }
    try channel.writeInbound(ByteBuffer(bytes: [0x41]))
    #expect(Array(try received(channel).utf8).last == 0x41)
  }

  @Test func `other bytes pass at once, also after the same message`() throws {
    let channel = try makeChannel()
    #expect(try receive(channel, "Port") == "")
    #expect(try receive(channel, "al open\n") == "Portal open\n")
    #expect(try receive(channel, "Port already in use") == "Port already in use")
    channel.pipeline.fireErrorCaught(gone)
    #expect(errors.last == .deviceGone)
  }

  @Test func `the same text from a device that stays connected passes after a moment`() throws {
    let channel = try makeChannel()
    #expect(try receive(channel, "Port already in use\n") == "")
    channel.embeddedEventLoop.advanceTime(by: SocketRefusalHandler.holdLimit)
    #expect(try received(channel) == "Port already in use\n")
  }

  @Test func `half of the message and the end belong to the device`() throws {
    let channel = try makeChannel()
    #expect(try receive(channel, "Port alr") == "")
    channel.pipeline.fireErrorCaught(gone)
    #expect(try received(channel) == "Port alr")
    #expect(errors.last == .deviceGone)
  }
}
