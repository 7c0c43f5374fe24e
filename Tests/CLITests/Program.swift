import Foundation
import Glibc

/// A program started for a test: its output so far, and how it ended. Killed when it runs longer
/// than `hangLimitSeconds`, so that every wait ends, and at the end of this value's lifetime.
final class Program: Sendable {
  /// The destination of a program's stdout and stderr.
  enum Streams {
    /// A pipe each.
    case pipes
    /// Stdout to a terminal, stderr to a pipe.
    case terminal
    /// Stdout to this file, stderr to a pipe.
    case file(String)
    /// Stdout closed, stderr to a pipe.
    case closed
  }

  /// The result of a run.
  struct Ending: Sendable {
    var status: Exit.Status
    var output: String
    var errors: String
    /// Its duration.
    var duration: Duration

    /// Lines of stdout.
    var lines: [String] {
      output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }
    /// Lines of stderr.
    var errorLines: [String] {
      errors.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
    }
  }

  static let hangLimitSeconds = 900

  /// The `notibot` of the same build as this test.
  static let notibot = built("notibot")
  static let dev = built("notibot-dev")

  /// A program that was built next to this test.
  private static func built(_ name: String) -> String {
    let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent(name).path
  }

  let output: Collected
  let errors: Collected
  private let input: Descriptor
  private let exit: Exit

  var pid: Int32 { exit.pid }

  /// Starts `notibot`, or another program.
  ///
  /// - Parameters:
  ///   - environment: added to the tester's own, without variables for ports or colours.
  ///   - input: the content of stdin; nil keeps it open for `write` and `closeInput`.
  ///   - stdin: used instead, for example a terminal; not closed here.
  init(
    _ arguments: [String], program path: String = notibot, environment: [String: String] = [:],
    input text: String? = "", stdin keyboard: Descriptor? = nil, streams: Streams = .pipes
  ) throws {
    let stdin = try Descriptor.pipe()
    let stderr = try Descriptor.pipe()
    let stdout: (read: Descriptor?, write: Descriptor?) =
      switch streams {
      case .pipes: try Descriptor.pipe()
      case .terminal: try Descriptor.terminal()
      case .file(let path): (nil, try Descriptor.opening(path, O_WRONLY | O_CREAT))
      case .closed: (nil, nil)
      }
    let spawn = Spawn(
      arguments: [path] + arguments, environment: Self.environment(adding: environment),
      streams: [keyboard ?? stdin.read, stdout.write, stderr.write])
    exit = Exit(pid: try spawn.run())
    // Only the program must hold its ends, otherwise its end would not be detected.
    for end in [stdin.read, stdout.write, stderr.write] { end?.close() }
    input = stdin.write
    output = Collected(reading: stdout.read)
    errors = Collected(reading: stderr.read)
    if let text {
      Thread.detachNewThread { [input] in
        input.write(Array(text.utf8))
        input.close()
      }
    }
    let limit = DispatchTime.now() + .seconds(Self.hangLimitSeconds)
    DispatchQueue.global().asyncAfter(deadline: limit) { [exit] in exit.send(SIGKILL) }
  }

  deinit {
    exit.send(SIGKILL)
  }

  /// Sends a signal, if the program still runs.
  func send(_ signal: Int32) { exit.send(signal) }

  /// Waits until the program handles a signal: from then on its reports are written.
  func catches(_ signal: Int32) async throws {
    let path = "/proc/\(pid)/status"
    try await onThread {
      while true {
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        let mask = lines.first { $0.hasPrefix("SigCgt:") }?.split(separator: "\t").last
        if let mask, let bits = UInt64(mask, radix: 16), bits >> (signal - 1) & 1 == 1 { return }
        sched_yield()
      }
    }
  }

  /// Writes to the program's stdin.
  func write(_ text: String) { input.write(Array(text.utf8)) }

  /// Ends the program's stdin.
  func closeInput() { input.close() }

  /// Closes this end of the program's stdout, as `head` does when it has seen enough.
  func stopReading() async { await output.stop() }

  /// Waits for the end.
  func ending() async -> Ending {
    let (status, duration) = await exit.wait()
    return Ending(
      status: status, output: await output.all(), errors: await errors.all(), duration: duration)
  }

  private static func environment(adding added: [String: String]) -> [String: String] {
    let settings = ["NOTIBOT_", "ESP", "NO_COLOR", "TERM"]
    let kept = ProcessInfo.processInfo.environment.filter { entry in
      !settings.contains { entry.key.hasPrefix($0) }
    }
    return kept.merging(added) { $1 }
  }
}

/// Runs `notibot` to its end.
func run(
  _ arguments: String..., environment: [String: String] = [:], input: String = "",
  streams: Program.Streams = .pipes
) async throws -> Program.Ending {
  try await Program(arguments, environment: environment, input: input, streams: streams).ending()
}
