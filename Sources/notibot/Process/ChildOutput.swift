import Foundation
import Glibc
import SerialLink

/// The standard output of a program that ends soon.
enum ChildOutput {
  struct Failure: Error {
    /// Printable.
    var text: String
  }

  /// Runs a program and reads its output, without a shell and without input. It is killed after
  /// `limit`, and when it prints more than `bytes`; both are failures, and so is another exit code
  /// than 0.
  static func of(_ program: String, _ arguments: [String], limit: Duration, _ bytes: Int)
    -> Result<String, Failure>
  {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    do {
      try process.run()
    } catch {
      return .failure(Failure(text: "it cannot be started: \(error.localizedDescription.printable)"))
    }
    let end = ContinuousClock.now + limit
    let descriptor = output.fileHandleForReading.fileDescriptor
    var text: [UInt8] = []
    var problem: String?
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while problem == nil {
      let left = (end - .now).components
      let milliseconds = left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000
      var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard milliseconds > 0, poll(&waiting, 1, Int32(clamping: milliseconds)) != 0 else {
        problem = "it did not end in time"
        break
      }
      let count = read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { break }
      text += buffer[..<count]
      if text.count > bytes { problem = "it printed more than \(bytes) bytes" }
    }
    // Foundation starts it in a process group of its own, to which its children belong, too.
    if problem != nil { kill(-process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
    if problem == nil, process.terminationReason != .exit || process.terminationStatus != 0 {
      problem = "it ended with \(process.terminationStatus)"
    }
    return problem.map { .failure(Failure(text: $0)) } ?? .success(String(decoding: text, as: UTF8.self))
  }
}
