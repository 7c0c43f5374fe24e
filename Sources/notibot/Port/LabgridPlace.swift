import Foundation
import Glibc
import NIOCore
import NIOPosix
import SerialLink

/// A place of labgrid, acquired for the duration of a closure.
///
/// A child process acquires it, waits until its standard input closes, and releases it. So the
/// place is released however this process ends, even by SIGKILL. The child ignores signals, so that
/// Ctrl-C ends only the user of the place.
enum LabgridPlace {
  /// Time limit to acquire a place and start its server.
  static let acquireLimitSeconds = 30
  /// Time limit for the release of the place.
  static let releaseLimitSeconds = 10

  private static let marker = "NOTIBOT-READY"

  /// Prints its progress on stdout, and the reason of a failure on stderr.
  private static let script = """
    trap '' INT TERM HUP PIPE
    timeout -s KILL \(acquireLimitSeconds) labgrid-client -p "$1" acquire >/dev/null || exit 1
    timeout -s KILL \(acquireLimitSeconds) labgrid-client -p "$1" show
    echo \(marker)
    cat >/dev/null
    timeout -s KILL \(acquireLimitSeconds) labgrid-client -p "$1" release >/dev/null
    """

  /// Runs `body` with a name that can be opened: for a place its serial port, which is always
  /// released, else the name itself.
  ///
  /// - Throws: `CommandFailure` when labgrid is missing (18), does not know the place (10) or has
  ///   it acquired for another user (11); the error of `body`.
  static func withPlace<Result: Sendable>(
    of name: PortName, _ body: (PortName) async throws -> Result
  ) async throws -> Result {
    guard case .labgrid(let place) = name else { return try await body(name) }
    guard isInstalled else {
      throw CommandFailure(
        .unfitEnvironment, "cannot use labgrid:\(place.printable): labgrid-client is not in PATH",
        remedy: "install it: pip install labgrid")
    }
    let holder = try Holder(place: place)
    let said = await holder.untilReady()
    guard said.isReady else {
      _ = await Interruption.finishing(within: .seconds(releaseLimitSeconds)) { await holder.end() }
      throw failure("labgrid:\(place.printable)", holder.errors())
    }
    do {
      try Task.checkCancellation()
      let result = try await body(.address(try port(of: place, in: said.text)))
      await release(holder, place)
      return result
    } catch {
      await release(holder, place)
      throw error
    }
  }

  private static func release(_ holder: Holder, _ place: String) async {
    let limit = Duration.seconds(releaseLimitSeconds)
    if await Interruption.finishing(within: limit, { await holder.end() }) { return }
    let reason = String(holder.errors().suffix(200)).printable
    Output.note("labgrid:\(place.printable) is possibly not released: \(reason)")
  }

  private static var isInstalled: Bool { SearchPath.first(of: ["labgrid-client"]) != nil }

  private static func port(of place: String, in said: String) throws -> PortAddress {
    let name = "labgrid:\(place.printable)"
    let ports = LabgridListing.serialPorts(in: said)
    guard let port = ports.first, ports.count == 1 else {
      throw CommandFailure(
        .noBoard, "cannot open \(name): the place has \(ports.count) serial ports, not one",
        remedy: "check 'labgrid-client -p \(place.printable) show'; create one place per board")
    }
    Output.note("\(name) is \(port.description.printable)")
    return port
  }

  private static func failure(_ name: String, _ errors: String) -> CommandFailure {
    let line = errors.split(separator: "\n").last.map(String.init) ?? "labgrid-client printed no error"
    let reason = line.split(separator: "Error: ").last.map(String.init) ?? line
    let text = "cannot acquire \(name): \(String(reason.prefix(300)).printable)"
    if errors.contains("matches nothing") {
      return CommandFailure(.noBoard, text, remedy: "list the places with: labgrid-client places")
    }
    if errors.contains("already acquired") {
      return CommandFailure(.portBusy, text, remedy: "list the users with: labgrid-client who")
    }
    return CommandFailure(
      .unfitEnvironment, text, remedy: "check that LG_COORDINATOR names a running coordinator")
  }

  /// The child process that holds the place.
  private final class Holder: Sendable {
    /// Its output until it was ready, or ended.
    struct Words: Sendable {
      var text: String
      var isReady: Bool
    }

    private let process = Process()
    private let input: FileHandle
    private let output = Pipe()
    private let errorLog: String
    /// A future for waiting, because a cancelled task must wait too.
    private let loop = MultiThreadedEventLoopGroup.singleton.next()

    init(place: String) throws {
      // Only this process may hold the writing end, else its exit would go unnoticed.
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0 else {
        throw CommandFailure(.unfitEnvironment, "cannot create a pipe: \(String(cString: strerror(errno)))")
      }
      ends.forEach { _ = fcntl($0, F_SETFD, FD_CLOEXEC) }
      let reading = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
      input = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
      errorLog =
        FileManager.default.temporaryDirectory
        .appendingPathComponent("notibot-labgrid-\(getpid())-\(UInt32.random(in: 0 ... .max))").path
      guard
        FileManager.default.createFile(
          atPath: errorLog, contents: nil, attributes: [.posixPermissions: 0o600]),
        let errors = FileHandle(forWritingAtPath: errorLog)
      else { throw CommandFailure(.unfitEnvironment, "cannot write \(errorLog)") }
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-c", LabgridPlace.script, "sh", place]
      process.standardInput = reading
      process.standardOutput = output
      process.standardError = errors
      do {
        try process.run()
      } catch {
        throw CommandFailure(
          .unfitEnvironment, "cannot start /bin/sh: \(error.localizedDescription.printable)")
      }
    }

    deinit { try? FileManager.default.removeItem(atPath: errorLog) }

    /// The end of its error output.
    func errors() -> String {
      let text = FileManager.default.contents(atPath: errorLog) ?? Data()
      return String(decoding: text.suffix(LabgridListing.lengthLimitBytes), as: UTF8.self)
    }

    /// Reads until it is ready or has ended; it has a time limit of its own.
    func untilReady() async -> Words {
      let handle = output.fileHandleForReading
      let words = NIOSingletons.posixBlockingThreadPool.runIfActive(eventLoop: loop) {
        var text = Data()
        while text.count <= LabgridListing.lengthLimitBytes {
          let more = handle.availableData
          if more.isEmpty { return Words(text: String(decoding: text, as: UTF8.self), isReady: false) }
          text += more
          let said = String(decoding: text, as: UTF8.self)
          if said.hasSuffix("\(LabgridPlace.marker)\n") { return Words(text: said, isReady: true) }
        }
        return Words(text: "", isReady: true)
      }
      return (try? await words.get()) ?? Words(text: "", isReady: false)
    }

    /// Releases the place and waits for that. Returns whether it is released.
    func end() async -> Bool {
      try? input.close()
      let process = process
      let status = NIOSingletons.posixBlockingThreadPool.runIfActive(eventLoop: loop) { () -> Int32? in
        let end = ContinuousClock.now + .seconds(LabgridPlace.releaseLimitSeconds)
        while process.isRunning, ContinuousClock.now < end { _ = poll(nil, 0, 20) }
        return process.isRunning ? nil : process.terminationStatus
      }
      return (try? await status.get()) == 0
    }
  }
}
