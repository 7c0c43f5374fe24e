import Foundation
import Glibc
import NIOCore
import NIOPosix
import SerialLink
import Synchronization

/// The process of `LabgridScript`, one for this command. It does not die with this process: it
/// releases the places first, also after SIGKILL.
final class LabgridClient: Sendable {
  /// A line to it.
  struct Request: Encodable, Sendable {
    /// The tags of the places to list.
    var list: [String: String]?
    var place: String?
    var tags: [String: String]?
    /// In seconds.
    var wait: Int?
    var run: [String]?
  }

  /// A line from it.
  struct Answer: Decodable, Sendable {
    var places: [String]?
    /// The name of the acquired place.
    var place: String?
    /// The output of `labgrid-client show`.
    var shown: String?
    /// The port at this end of a tunnel, in the variables of `labgrid-client export`.
    var forward: [String: String]?
    var errors: String?
    /// At the end: why the place could not be released; empty: it is.
    var released: String?
  }

  /// A connection, which holds at most one place.
  struct Connection: Sendable {
    fileprivate let channel: any Channel
    fileprivate let answers: AsyncStream<Answer>

    /// Sends a request and waits for its answer; nil if the process has ended, or in a cancelled
    /// task.
    func ask(_ request: Request) async -> Answer? {
      guard let line = try? JSONEncoder().encode(request) + Data([UInt8(ascii: "\n")]) else { return nil }
      try? await channel.writeAndFlush(ByteBuffer(bytes: line))
      return await next()
    }

    /// Releases the place, also in a cancelled task. Returns why that failed; nil: it did not.
    func end(within limit: Duration) async -> String? {
      await Task {
        let late = channel.eventLoop.scheduleTask(in: TimeAmount(limit)) { channel.close(promise: nil) }
        defer { late.cancel() }
        try? await channel.close(mode: .output)
        var problem: String? = "no answer from labgrid within \(limit.components.seconds) s"
        while let answer = await next() {
          if let released = answer.released { problem = released.isEmpty ? nil : released }
        }
        try? await channel.close()
        return problem
      }.value
    }

    private func next() async -> Answer? {
      for await answer in answers { return answer }
      return nil
    }
  }

  private static let shared = Mutex<Result<LabgridClient, Failure>?>(nil)

  private let process = Process()
  /// Only this process has this end, so that its exit is noticed.
  private let input: FileHandle
  private let path: String

  /// Connects to the process of this command, which is started for the first one.
  static func connect() async throws -> Connection {
    let client = try await NIOSingletons.posixBlockingThreadPool.runIfActive {
      shared.withLock { shared in
        let made = shared ?? Result { () throws(Failure) in try LabgridClient() }
        shared = made
        return made
      }
    }.get()
    let (answers, sink) = AsyncStream<Answer>.makeStream(bufferingPolicy: .bufferingNewest(16))
    let channel = try await UnixSocket.connect(
      to: client.path, on: MultiThreadedEventLoopGroup.singleton.next()
    ) { channel in
      try channel.pipeline.syncOperations.addHandler(DocumentReader(sink: sink))
    }
    return Connection(channel: channel, answers: answers)
  }

  private init() throws(Failure) {
    guard let program = SearchPath.first(of: ["labgrid-client"]) else {
      throw Failure(
        .unfitEnvironment, "cannot use labgrid: labgrid-client is not in PATH",
        remedy: "install it: pip install labgrid")
    }
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw Failure(.unfitEnvironment, "cannot create a pipe: \(String(cString: strerror(errno)))")
    }
    ends.forEach { _ = fcntl($0, F_SETFD, FD_CLOEXEC) }
    let reading = FileHandle(fileDescriptor: ends[0], closeOnDealloc: true)
    input = FileHandle(fileDescriptor: ends[1], closeOnDealloc: true)
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = Self.interpreter(of: program) + ["-c", LabgridScript.text]
    process.standardInput = reading
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    do {
      try process.run()
    } catch {
      throw Failure(
        .unfitEnvironment, "cannot start /usr/bin/env: \(errorText(error).printable)")
    }
    // One line, or nothing if it cannot run.
    let line = output.fileHandleForReading.availableData
    path = String(decoding: line, as: UTF8.self).filter { $0 != "\n" }
    guard !path.isEmpty else {
      throw Failure(
        .unfitEnvironment, "cannot use labgrid: the Python of \(program.printable) does not run",
        remedy: "check it with: labgrid-client --help")
    }
  }

  /// The Python of a script, else that of PATH, which can start any program.
  private static func interpreter(of program: String) -> [String] {
    let head = FileManager.default.contents(atPath: program)?.prefix(512) ?? Data()
    let line = String(decoding: head.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    guard line.hasPrefix("#!"), line.contains("python") else { return ["python3"] }
    return line.dropFirst(2).split(separator: " ").map(String.init)
  }
}
