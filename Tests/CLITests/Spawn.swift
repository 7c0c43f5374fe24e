import Foundation
import Glibc
import Synchronization

/// Starts a program with the signal actions of a shell. With `Foundation.Process` it would inherit
/// ignored signals of this process, such as SIGPIPE.
struct Spawn {
  /// The first is the program's path.
  var arguments: [String]
  var environment: [String: String]
  /// Stdin, stdout and stderr; nil: closed.
  var streams: [Descriptor?]

  /// Held while a program starts, and while a descriptor is not yet close-on-exec.
  static let lock = Mutex(())

  /// Writing to a program that has ended must not end this one.
  private static let brokenPipesAreErrors: Void = { signal(SIGPIPE, SIG_IGN) }()

  /// - Returns: the process id.
  func run() throws -> Int32 {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, stream) in streams.enumerated() {
      if let stream {
        posix_spawn_file_actions_adddup2(&actions, stream.number, Int32(number))
      } else {
        posix_spawn_file_actions_addclose(&actions, Int32(number))
      }
    }
    // No other descriptor, such as the socket of another test's client.
    let numbers = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
      Int32($0)
    }
    for number in numbers where number > STDERR_FILENO { posix_spawn_file_actions_addclose(&actions, number) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    sigfillset(&signals)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    let words = arguments.map { strdup($0) } + [nil]
    let settings = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { (words + settings).forEach { free($0) } }
    _ = Self.brokenPipesAreErrors
    var pid: pid_t = 0
    let error = Self.lock.withLock { _ in
      posix_spawn(&pid, arguments[0], &actions, &attributes, words, settings)
    }
    guard error == 0 else { throw SystemError("start \(arguments[0])", number: error) }
    return pid
  }
}

/// How a child process ends, and when.
final class Exit: Sendable {
  enum Status: Equatable, Sendable {
    case exited(Int32)
    case killed(signal: Int32)
  }

  private struct State {
    var ended: (status: Status, duration: Duration)?
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  let pid: Int32
  private let state = Mutex(State())

  init(pid: Int32) {
    self.pid = pid
    let start = ContinuousClock.now
    Thread.detachNewThread { [self] in
      var info = siginfo_t()
      // Not reaped yet, so that the pid is not reused while signals can still be sent to it.
      while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
      let waiters = state.withLock { state in
        var raw: Int32 = 0
        waitpid(pid, &raw, 0)
        let status: Status = raw & 0x7F == 0 ? .exited(raw >> 8 & 0xFF) : .killed(signal: raw & 0x7F)
        state.ended = (status, ContinuousClock.now - start)
        defer { state.waiters = [] }
        return state.waiters
      }
      waiters.forEach { $0.resume() }
    }
  }

  func send(_ signal: Int32) {
    state.withLock { if $0.ended == nil { kill(pid, signal) } }
  }

  func wait() async -> (Status, Duration) {
    while true {
      if let ended = state.withLock(\.ended) { return ended }
      await withCheckedContinuation { continuation in
        let hasEnded = state.withLock { state in
          if state.ended == nil { state.waiters.append(continuation) }
          return state.ended != nil
        }
        if hasEnded { continuation.resume() }
      }
    }
  }
}
