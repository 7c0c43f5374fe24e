import NIOCore
import NIOPosix
import NotibotProtocol
import SerialLink
import Testing

@testable import NotibotHost

/// A device on the master of a real terminal pair, simulated by a fixed table of answers.
///
/// It knows one host and a clean line: no credit, a number for each answer. Frames repeated because
/// a busy computer let the host's timer expire are answered once.
final class TablePeer: ChannelInboundHandler, @unchecked Sendable {
  // Used on its channel's event loop only; `Sendable` because the channel's initializer must be.
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private var decoder = FrameDecoder(receiving: .fromHost)
  private var received: UInt8 = 0
  private var sent: UInt8 = 0
  private let deviceID: DeviceID?
  private let answer: ([UInt8]) -> [[UInt8]]

  init(deviceID: DeviceID? = nil, answer: @escaping @Sendable ([UInt8]) -> [[UInt8]]) {
    self.deviceID = deviceID
    self.answer = answer
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    decoder.receive(Array(buffer: unwrapInboundIn(data)))
    var bytes: [UInt8] = []
    while let event = decoder.nextEvent() {
      guard case .frame(let frame) = event else { continue }
      for reply in replies(to: frame) { reply.encode(into: &bytes) }
    }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes)), promise: nil)
  }

  private func replies(to frame: Frame) -> [Frame] {
    switch frame.header.type {
    case .syn:
      received = 0
      sent = 0
      guard let syn = try? Syn(parsing: frame.payload) else { return [] }
      return [ScriptedDevice.synack(nonce: syn.nonce, deviceID: deviceID)]
    case .data:
      guard frame.header.sequence == received else { return [] }
      received &+= 1
      return answer(frame.payload).map { pdu in
        defer { sent &+= 1 }
        return ScriptedDevice.pdu(pdu, sequence: sent, ack: received)
      }
    case .fin: return [ScriptedDevice.frame(.ack, ack: received)]
    case .ack, .nak, .udata, .ping, .pong, .hello, .synack, .rst: return []
    }
  }

  /// Answers like a Notibot that holds `count` notifications and refuses JSON that has a `!` in it.
  @Sendable static func notibot(_ pdu: [UInt8]) -> [[UInt8]] {
    switch pdu.first {
    case 0x02: [[0x03, 0x05, 0x02]]
    case 0x0A: [[0x0B, 0x07, 0x00]]
    case 0x12 where pdu.contains(UInt8(ascii: "!")): [[0x01, 0x12, 0x06, 0x00, 0x80]]
    case 0x12: [[0x13]]
    case _: []
    }
  }

  /// Runs `body` with the path of a terminal with such a device.
  static func withPeer<Result>(
    deviceID: DeviceID? = nil, answer: @escaping @Sendable ([UInt8]) -> [[UInt8]] = TablePeer.notibot,
    _ body: (String) async throws -> Result
  ) async throws -> Result {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let peer = TablePeer(deviceID: deviceID, answer: answer)
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let channel = try await PseudoTerminalChannel.open(terminal, on: loop) { channel in
      try channel.pipeline.syncOperations.addHandler(peer)
    }
    let result = try await body(path)
    try await channel.close()
    return result
  }
}

struct DevicePTYTests {
  @Test func `a program connects, counts, sends and closes over a real terminal`() async throws {
    try await TablePeer.withPeer { path in
      for _ in 0..<2 {
        let count = try await withDevice(at: path) { device in
          #expect(await device.info.bootID == ScriptedDevice.bootID)
          try await device.send(DisplayNotification(app: "A", title: "B", text: "C", timestamp: 1))
          return try await device.count()
        }
        #expect(count == 7)
      }
    }
  }

  @Test func `each of a thousand notifications has its own result`() async throws {
    try await TablePeer.withPeer { path in
      try await withDevice(at: path) { device in
        let notifications = (0..<1000).map { index in
          DisplayNotification(app: "A", title: index % 10 == 3 ? "!" : "B", text: "\(index)", timestamp: 1)
        }
        let (stream, sink) = AsyncStream<(Int, Bool)>.makeStream()
        let summary = try await device.send(contentsOf: notifications) { index, result in
          sink.yield((index, (try? result.get()) != nil))
        }
        sink.finish()
        #expect(summary == SendSummary(accepted: 900, refused: 100))
        var refused: [Int] = []
        for await (index, isAccepted) in stream where !isAccepted { refused.append(index) }
        #expect(refused == (0..<100).map { $0 * 10 + 3 })
      }
    }
  }

  @Test func `a disconnected device ends its requests`() async throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let peer = TablePeer { pdu in pdu.first == 0x0A ? [] : TablePeer.notibot(pdu) }
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let channel = try await PseudoTerminalChannel.open(terminal, on: loop) { channel in
      try channel.pipeline.syncOperations.addHandler(peer)
    }
    let error = try await #require(throws: NotibotError.self) {
      try await withDevice(at: path) { device in
        async let count = device.count()
        try await channel.close()
        return try await count
      }
    }
    #expect(error.code == .linkLost)
  }

  @Test func `a port without an answer fails within its time limit`() async throws {
    let silent = try PseudoTerminal.open()
    let path = silent.slavePath
    var options = DeviceOptions()
    options.connectTimeout = .milliseconds(50)
    let error = try await #require(throws: NotibotError.self) {
      try await withDevice(at: path, options: options) { _ in }
    }
    #expect(error.code == .noAnswer)
    #expect(error.hint.isEmpty == false)
  }

  @Test func `a missing port is noBoard`() async throws {
    let error = try await #require(throws: NotibotError.self) {
      try await withDevice(at: "/dev/notibot-none") { _ in }
    }
    #expect(error.code == .noBoard)
    #expect("\(error)".contains("/dev/notibot-none"))
  }
}
