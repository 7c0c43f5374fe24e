import CSerialShim
import Glibc
import SerialLink

/// The standard output of a program that ends soon.
enum ChildOutput {
  /// Runs a program and reads its output, without a shell and without input. It is killed, with
  /// what it has started, after `limit`, when it prints more than `bytes`, and when this thread
  /// ends; the first two are failures, and so is another exit code than 0. Messages are printable.
  static func of(_ program: String, _ arguments: [String], limit: Duration, _ bytes: Int)
    -> Result<String, Failure>
  {
    var ends: [Int32] = [-1, -1]
    let made = serial_shim_socket_pair(&ends)
    guard made == 0 else { return .failure(notStarted(-made)) }
    let reader = ends[0]
    defer { close(reader) }
    let pid = start(program, arguments, output: ends[1])
    close(ends[1])
    guard pid > 0 else { return .failure(notStarted(-pid)) }
    let end = ContinuousClock.now + limit
    var (text, problem) = read(reader, until: end, bytes)
    // It can close its output before it ends.
    if problem == nil, serial_shim_await_end(pid, milliseconds(until: end)) == 0 { problem = tooLate }
    // Also without a problem: what it has started in the background ends with it.
    kill(-pid, SIGKILL)
    let status = serial_shim_reap(pid)
    if let problem { return .failure(Failure(.unfitEnvironment, problem)) }
    guard status == 0 else {
      let isSignal = status & 0x7F != 0
      return .failure(
        Failure(
          .unfitEnvironment, isSignal ? "signal \(status & 0x7F) ended it" : "it ended with \(status >> 8)"))
    }
    return .success(text)
  }

  private static let tooLate = "it did not end in time"

  /// At least 0.
  private static func milliseconds(until end: ContinuousClock.Instant) -> Int32 {
    Int32(clamping: max(0, Int((end - .now) / .milliseconds(1))))
  }

  private static func notStarted(_ number: Int32) -> Failure {
    Failure(.unfitEnvironment, "it cannot be started: \(String(cString: strerror(number)))")
  }

  /// The process id, or a negative errno. It leads a process group.
  private static func start(_ program: String, _ arguments: [String], output: Int32) -> Int32 {
    let nowhere = open("/dev/null", O_RDWR | O_CLOEXEC)
    guard nowhere >= 0 else { return -errno }
    defer { close(nowhere) }
    let words = ([program] + arguments).map { strdup($0) }
    defer { words.forEach { free($0) } }
    let numbers = [nowhere, output, nowhere]
    return serial_shim_spawn_tied(program, words + [nil], numbers, numbers.count)
  }

  /// Reads until the end, and returns what prevented that, if anything.
  private static func read(_ descriptor: Int32, until end: ContinuousClock.Instant, _ limitBytes: Int)
    -> (String, problem: String?)
  {
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while true {
      let left = milliseconds(until: end)
      var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard left > 0, poll(&waiting, 1, left) != 0 else { return ("", tooLate) }
      let count = Glibc.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return (String(decoding: text, as: UTF8.self), nil) }
      text += buffer[..<count]
      if text.count > limitBytes { return ("", "it printed more than \(limitBytes) bytes") }
    }
  }
}
