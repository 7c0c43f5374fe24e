import CSerialShim
import Glibc
package import NIOCore
package import NIOPosix
import Synchronization

/// A child process that does not outlive this process: the kernel kills it when this process ends
/// for any reason. It leads a process group; what it has started is killed with it by `stop`.
///
/// States: *running* → *ended* when it has closed its stderr, which happens at its end → *reaped*
/// by `stop`.
package final class TiedProcess: Sendable {
  /// Bytes kept of its stderr, at most; the last ones.
  static let outputLimitBytes = 4096

  private enum State {
    case running
    case reaped
  }

  /// Its process id; not valid after `stop`.
  package let pid: Int32
  /// The end of its stderr, once it has ended.
  package let ended: EventLoopFuture<String>
  /// Reads its stderr.
  private let words: any Channel
  private let state = Mutex(State.running)

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - program: its path.
  ///   - arguments: its arguments, without its name.
  ///   - input: becomes its stdin; `nil`: /dev/null. The caller keeps its own.
  ///   - output: becomes its stdout; `nil`: /dev/null. The caller keeps its own.
  ///   - descriptors: become its descriptors from 3 on; the caller keeps its own. At most 5.
  ///   - group: one whose threads live as long as this process, because the program dies with the
  ///     thread that started it (prctl(2), PR_SET_PDEATHSIG).
  /// - Throws: `PortError` when it cannot be started.
  package static func start(
    _ program: String, arguments: [String], input: Int32? = nil, output: Int32? = nil,
    descriptors: [Int32] = [],
    on group: MultiThreadedEventLoopGroup = .singleton
  ) async throws(PortError) -> TiedProcess {
    let loop = group.next()
    var ends: [Int32] = [-1, -1]
    let made = serial_shim_socket_pair(&ends)
    guard made == 0 else { throw PortError(.system(errno: -made), port: program, operation: "start") }
    let reader = OwnedDescriptor(owning: ends[0])
    let writer = OwnedDescriptor(owning: ends[1])
    let errorOutput = writer.raw
    let pid: Int32
    do {
      pid = try await loop.submit { spawn(program, arguments, [input, output, errorOutput] + descriptors) }
        .get()
    } catch {
      throw PortError(.system(errno: ECANCELED), port: program, operation: "start")
    }
    guard pid > 0 else { throw PortError(.system(errno: -pid), port: program, operation: "start") }
    let ended = loop.makePromise(of: String.self)
    let words: any Channel
    do {
      words = try await DescriptorChannel.open(reader.release(), .input, on: loop) {
        try $0.pipeline.syncOperations.addHandler(LastWords(ended: ended))
      }
    } catch {
      ended.succeed("")
      kill(pid, SIGKILL)
      _ = serial_shim_reap(pid)
      throw PortError(opening: program, error)
    }
    return TiedProcess(pid: pid, ended: ended.futureResult, words: words)
  }

  private static func spawn(
    _ program: String, _ arguments: [String], _ descriptors: [Int32?]
  ) -> Int32 {
    let nowhere = Glibc.open("/dev/null", O_RDWR | O_CLOEXEC)
    guard nowhere >= 0 else { return -errno }
    defer { _ = close(nowhere) }
    let words = ([program] + arguments).map { strdup($0) }
    defer { words.forEach { free($0) } }
    let numbers = descriptors.map { $0 ?? nowhere }
    return serial_shim_spawn_tied(program, words + [nil], numbers, numbers.count)
  }

  private init(pid: Int32, ended: EventLoopFuture<String>, words: any Channel) {
    self.pid = pid
    self.ended = ended
    self.words = words
  }

  /// Kills it, if it still runs, and waits for its end. Can be called more than once. Does not wait
  /// for `ended`.
  package func stop() async {
    if finish() { _ = await reap() }
  }

  /// Waits for its end, and returns its exit code; `nil` if a signal ended it, as `stop`, a
  /// cancellation and the limit do.
  package func exitCode(within limit: Duration) async -> Int32? {
    let over = ended.eventLoop.makePromise(of: Void.self)
    let late = ended.eventLoop.scheduleTask(in: TimeAmount(limit)) { self.end(over) }
    ended.whenComplete { _ in over.succeed() }
    await withTaskCancellationHandler {
      try? await over.futureResult.get()
    } onCancel: {
      end(over)
    }
    late.cancel()
    guard finish(byKilling: false) else { return nil }
    guard let status = await reap(), status >= 0, status & 0x7F == 0 else { return nil }
    return status >> 8 & 0xFF
  }

  /// Waits only until the kernel has ended the process; as a future, because a cancelled task must
  /// wait too. Then `ended` follows, even if a program in another group keeps the stderr.
  private func reap() async -> Int32? {
    let (pid, words) = (pid, words)
    let reaped = NIOSingletons.posixBlockingThreadPool.runIfActive(eventLoop: ended.eventLoop) {
      serial_shim_reap(pid)
    }
    let status = try? await reaped.get()
    ended.eventLoop.scheduleTask(in: .seconds(1)) { words.close(promise: nil) }
    return status
  }

  private func end(_ wait: EventLoopPromise<Void>) {
    state.withLock { if case .running = $0 { _ = kill(-pid, SIGKILL) } }
    wait.succeed()
  }

  /// Whether the process is the caller's to reap.
  private func finish(byKilling kills: Bool = true) -> Bool {
    state.withLock { state in
      switch state {
      case .reaped: return false
      case .running:
        // Its entry exists until it is reaped, so that the pid is not reused. The shim has made it
        // the leader of a group before it became the program.
        if kills { kill(-pid, SIGKILL) }
        state = .reaped
        return true
      }
    }
  }

  deinit {
    if finish() { _ = serial_shim_reap(pid) }
  }
}

/// Keeps the last output of a program, and reports its end.
private final class LastWords: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let ended: EventLoopPromise<String>
  private var said: [UInt8] = []

  init(ended: EventLoopPromise<String>) {
    self.ended = ended
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    said += unwrapInboundIn(data).readableBytesView
    said.removeFirst(max(0, said.count - TiedProcess.outputLimitBytes))
  }

  func channelInactive(context: ChannelHandlerContext) {
    ended.succeed(String(decoding: said, as: UTF8.self))
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
