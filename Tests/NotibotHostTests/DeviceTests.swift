import NIOCore
import NIOEmbedded
import NotibotProtocol
import SerialLink
import Testing

@testable import NotibotHost

/// A device on a channel in memory; the test controls the clock and the other end.
private final class MemoryLine {
  let channel = NIOAsyncTestingChannel()
  let device: Device
  private var decoder = FrameDecoder(receiving: .fromHost)
  private var frames: [Frame] = []

  init(_ options: DeviceOptions = DeviceOptions()) async throws {
    device = try await Device.make(on: channel, port: "/dev/test", options: options, seed: 1)
    try await channel.connect(to: SocketAddress(unixDomainSocketPath: "/test")).get()
  }

  /// The next frame that the host sends.
  func nextFrame() async throws -> Frame {
    while frames.isEmpty {
      decoder.receive(Array(buffer: try await channel.waitForOutboundWrite(as: ByteBuffer.self)))
      while let event = decoder.nextEvent() {
        if case .frame(let frame) = event { frames.append(frame) }
      }
    }
    return frames.removeFirst()
  }

  /// The next frame of this type that the host sends; those before it are dropped.
  func next(_ type: FrameType) async throws -> Frame {
    while true {
      let frame = try await nextFrame()
      if frame.header.type == type { return frame }
    }
  }

  func say(_ frames: Frame...) async throws {
    try await say(frames.flatMap { $0.encoded() })
  }

  func say(_ bytes: [UInt8]) async throws {
    try await channel.writeInbound(ByteBuffer(bytes: bytes))
  }

  func pass(_ amount: TimeAmount) async {
    await channel.testingEventLoop.advanceTime(by: amount)
  }

  /// Answers SYN and Exchange MTU.
  func open(session: UInt16 = ScriptedDevice.session, bootID: UInt32 = ScriptedDevice.bootID) async throws {
    let syn = try Syn(parsing: try await next(.syn).payload)
    try await say(ScriptedDevice.synack(nonce: syn.nonce, session: session, bootID: bootID))
    _ = try await next(.data)
    try await say(
      ScriptedDevice.frame(
        .data, channel: .att, session: session, sequence: 0, ack: 1, payload: [0x03, 0x05, 0x02]))
    try await device.waitUntilOpen()
  }
}

struct DeviceTests {
  private func isCount(_ event: Device.Event?, _ count: UInt16) -> Bool {
    if case .count(count)? = event { true } else { false }
  }

  @Test func `a request returns the device's answer`() async throws {
    let line = try await MemoryLine()
    try await line.open()
    let device = line.device
    async let count = device.count()
    #expect(try await line.next(.data).payload == [0x0A, 3, 0])
    try await line.say(ScriptedDevice.pdu([0x0B, 5, 0], sequence: 1, ack: 2))
    #expect(try await count == 5)
    #expect(await device.info.mtu == 517)
  }

  @Test func `a refusal names the error and does not end the session`() async throws {
    let line = try await MemoryLine()
    try await line.open()
    let device = line.device
    async let sending: Void = device.send(DisplayNotification(app: "A", title: "B", text: "C", timestamp: 1))
    _ = try await line.next(.data)
    try await line.say(ScriptedDevice.pdu([0x01, 0x12, 6, 0, 0x11], sequence: 1, ack: 2))
    do {
      try await sending
      Issue.record("not refused")
    } catch let error as NotibotError {
      #expect(error.code == .refused(.insufficientResources))
      #expect(error.isOutcomeUnknown == false)
      #expect("\(error)" == "cannot send to /dev/test: refused by the device: store full (ATT error 0x11)")
    }
    async let count = device.count()
    _ = try await line.next(.data)
    try await line.say(ScriptedDevice.pdu([0x0B, 5, 0], sequence: 2, ack: 3))
    #expect(try await count == 5)
  }

  @Test func `after a restart another session opens, subscribes again and reports the count`() async throws {
    let line = try await MemoryLine()
    try await line.open()
    let device = line.device
    async let subscribing: Void = device.subscribe()
    for number in UInt8(1)...2 {
      _ = try await line.next(.data)
      try await line.say(ScriptedDevice.pdu([0x13], sequence: number, ack: number + 1))
    }
    try await subscribing

    let lost = Task { try await device.count() }
    _ = try await line.next(.data)
    try await line.say(ScriptedDevice.hello(bootID: 7))
    let error = try await #require(throws: NotibotError.self) { try await lost.value }
    #expect(error.code == .deviceRestarted)
    #expect(error.isOutcomeUnknown)

    try await line.open(session: 8, bootID: 7)
    #expect(try await line.next(.data).payload == [0x12, 4, 0, 1, 0])
    #expect(try await line.next(.data).payload == [0x0A, 3, 0])
    func say(_ pdu: [UInt8], _ number: UInt8) async throws {
      try await line.say(
        ScriptedDevice.frame(
          .data, channel: .att, session: 8, sequence: number, ack: number + 2, payload: pdu))
    }
    try await say([0x13], 1)
    #expect(try await line.next(.data).payload == [0x12, 7, 0, 1, 0])
    try await say([0x0B, 9, 0], 2)
    var events = device.events.makeAsyncIterator()
    guard case .disconnected(let reason)? = try await events.next(),
      case .reconnected(let info)? = try await events.next()
    else {
      Issue.record("the events do not report the restart")
      return
    }
    #expect(reason.code == .deviceRestarted)
    #expect(info.bootID == 7)
    #expect(isCount(try await events.next(), 9))
  }

  @Test func `without reconnection a restart ends the device`() async throws {
    var options = DeviceOptions()
    options.reconnection = .never
    let line = try await MemoryLine(options)
    try await line.open()
    try await line.say(ScriptedDevice.hello(bootID: 7))
    try await line.channel.closeFuture.get()
    let error = try await #require(throws: NotibotError.self) { try await line.device.count() }
    #expect(error.code == .deviceRestarted)
    var events = line.device.events.makeAsyncIterator()
    await #expect(throws: NotibotError.self) { try await events.next() }
  }

  @Test func `a port without an answer is noAnswer, with a hint`() async throws {
    let line = try await MemoryLine()
    let device = line.device
    let opening = Task { try await device.waitUntilOpen() }
    try await line.say(Array("I (312) cpu_start: Pro cpu up.\n".utf8))
    await line.pass(.seconds(2))
    let error = try await #require(throws: NotibotError.self) { try await opening.value }
    #expect(error.code == .noAnswer)
    #expect(error.reason.contains("only console text"))
    #expect(error.reason.contains("'I (312) cpu_start: Pro cpu up.'"))
    try await line.channel.closeFuture.get()
  }

  @Test func `a board that restarts again and again, instead of an answer, has crashed`() async throws {
    let line = try await MemoryLine()
    let device = line.device
    let opening = Task { try await device.waitUntilOpen() }
    try await line.say(Array("rst:0x8 (TG1WDT_SYS_RST),boot:0xc (SPI_FAST_FLASH_BOOT)\n".utf8))
    await line.pass(.seconds(2))
    let error = try await #require(throws: NotibotError.self) { try await opening.value }
    #expect(error.code == .deviceRestarted && error.kind == .deviceRestarted)
  }

  @Test(arguments: FailureKind.allCases.filter { $0.rawValue < 100 && $0 != .testFailed })
  func `the refusal of a shared board keeps its kind`(kind: FailureKind) {
    let problem = ShareProblem.refused(reason: "r", hint: "h", kind)
    let error = NotibotError(PortError(.share(problem), port: "share:", operation: "open"))
    #expect(error.kind == kind)
    #expect([kind, .refused, .unfitEnvironment].contains(error.code.kind))
  }

  @Test func `a cancelled request ends at once, and its late answer is ignored`() async throws {
    let line = try await MemoryLine()
    try await line.open()
    let device = line.device
    let waiting = Task { try await device.count() }
    _ = try await line.next(.data)
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    async let count = device.count()
    _ = try await line.next(.data)
    try await line.say(
      ScriptedDevice.pdu([0x0B, 1, 0], sequence: 1, ack: 3),
      ScriptedDevice.pdu([0x0B, 2, 0], sequence: 2, ack: 3))
    #expect(try await count == 2)
  }

  @Test func `a cancelled batch ends at once and reports the requests in flight`() async throws {
    let line = try await MemoryLine()
    try await line.open()
    let device = line.device
    let notification = DisplayNotification(app: "A", title: "B", text: "C", timestamp: 1)
    let (results, sink) = AsyncStream<(Int, Bool)>.makeStream()
    let sending = Task {
      try await device.send(contentsOf: repeatElement(notification, count: 100), window: 10) {
        index, result in
        if case .failure(let error) = result { sink.yield((index, error.isOutcomeUnknown)) }
      }
    }
    _ = try await line.next(.data)
    sending.cancel()
    await #expect(throws: CancellationError.self) { try await sending.value }
    sink.finish()
    var unknown: [Int] = []
    for await (index, isUnknown) in results where isUnknown { unknown.append(index) }
    #expect(unknown == Array(0..<10))
  }

  @Test func `a batch reports each result if the device is lost`() async throws {
    let line = try await MemoryLine()
    try await line.open()
    let device = line.device
    let (results, sink) = AsyncStream<(Int, NotibotError?)>.makeStream()
    let notifications = (0..<100).map {
      DisplayNotification(app: "A", title: "\($0)", text: "C", timestamp: 1)
    }
    let sending = Task {
      try await device.send(contentsOf: notifications, window: 10) { index, result in
        if case .failure(let error) = result { sink.yield((index, error)) } else { sink.yield((index, nil)) }
      }
    }
    _ = try await line.next(.data)
    try await line.say(ScriptedDevice.pdu([0x13], sequence: 1, ack: 2))
    try await line.say(ScriptedDevice.hello(bootID: 7))
    let error = try await #require(throws: NotibotError.self) { try await sending.value }
    #expect(error.code == .deviceRestarted)
    sink.finish()
    var accepted = 0
    var unknown = 0
    var unsent = 0
    for await (_, error) in results {
      switch error?.isOutcomeUnknown {
      case nil: accepted += 1
      case true?: unknown += 1
      case false?: unsent += 1
      }
    }
    // Eight were in flight at the first answer, and one more followed; the window of ten was full
    // again.
    #expect(accepted == 1)
    #expect(unknown == 8)
    #expect(unsent == 2)
  }

  @Test func `closing sends FIN, waits 200 ms for its answer and closes the port`() async throws {
    let line = try await MemoryLine()
    try await line.open()
    let device = line.device
    async let closing: Void = device.close()
    _ = try await line.next(.fin)
    #expect(line.channel.isActive)
    await line.pass(.milliseconds(200))
    await closing
    #expect(line.channel.isActive == false)
    let error = try await #require(throws: NotibotError.self) { try await device.count() }
    #expect(error.code == .linkLost)
    await device.close()
  }

  @Test func `closing before the channel is active ends at once`() async throws {
    let channel = NIOAsyncTestingChannel()
    let device = try await Device.make(on: channel, port: "/dev/test", seed: 1)
    await device.close()
    await #expect(throws: NotibotError.self) { try await device.count() }
  }

  @Test func `cancelling while the session opens closes the port`() async throws {
    let line = try await MemoryLine()
    _ = try await line.next(.syn)
    let device = line.device
    let opening = Task { try await device.waitUntilOpen() }
    opening.cancel()
    await #expect(throws: CancellationError.self) { try await opening.value }
    try await line.channel.closeFuture.get()
  }

  @Test func `a lost port ends requests and events with its reason`() async throws {
    let line = try await MemoryLine()
    try await line.open()
    let device = line.device
    let count = Task { try await device.count() }
    _ = try await line.next(.data)
    let gone = PortError(.deviceGone, port: "/dev/test", operation: "read")
    let channel = line.channel
    try await channel.testingEventLoop.submit { channel.pipeline.fireErrorCaught(gone) }.get()
    let error = try await #require(throws: NotibotError.self) { try await count.value }
    #expect(error.code == .linkLost)
    var events = device.events.makeAsyncIterator()
    await #expect(throws: NotibotError.self) { while try await events.next() != nil {} }
  }

  @Test func `console text is an event only if requested`() async throws {
    for isRequested in [true, false] {
      var options = DeviceOptions()
      options.includesText = isRequested
      let line = try await MemoryLine(options)
      try await line.open()
      try await line.say([0x41, 0x42])
      try await line.say(ScriptedDevice.pdu([0x1B, 3, 0, 1, 0], sequence: 1, ack: 1))
      try await line.say([0x41] + ScriptedDevice.pdu([0x1B, 3, 0, 1, 0], sequence: 1, ack: 1).encoded())
      var events = line.device.events.makeAsyncIterator()
      let first = try await events.next()
      if case .text(let bytes)? = first {
        #expect(isRequested)
        #expect(bytes == [0x41, 0x42])
      } else {
        #expect(isRequested == false)
        #expect(isCount(first, 1))
      }
    }
  }

  @Test func `events that are not taken are bounded`() async throws {
    var options = DeviceOptions()
    options.eventsLimit = 4
    let line = try await MemoryLine(options)
    try await line.open()
    for number in UInt8(1)...20 {
      try await line.say(ScriptedDevice.pdu([0x1B, 3, 0, number, 0], sequence: number, ack: 1))
    }
    var events = line.device.events.makeAsyncIterator()
    for number in UInt16(17)...20 { #expect(isCount(try await events.next(), number)) }
  }

  @Test(arguments: [
    (PortError.Code.notFound(present: []), NotibotError.Code.noBoard), (.noBoard(others: []), .noBoard),
    (.ambiguous([]), .noBoard), (.unreachable("no route"), .noBoard), (.busy(nil), .portBusy),
    (.permissionDenied(group: nil), .noPermission), (.notATTY, .usage), (.badPortName("?"), .usage),
    (.deviceGone, .linkLost), (.system(errno: 24), .environment),
  ])
  func `a port's error has its code, its reason and its hint`(
    code: PortError.Code, expected: NotibotError.Code
  ) {
    let below = PortError(code, port: "/dev/x", operation: "open")
    let error = NotibotError(below)
    #expect(error.code == expected)
    #expect(error.hint == below.hint)
    #expect("\(error)" == "\(below)")
  }
}
