import Foundation
import Glibc
import Synchronization

/// `notibot` on a computer with mocked USB serial ports: `Tests/mocked/machine.py` under umockdev.
final class MockedMachine: Sendable {
  let program: Program
  private let linesRead = Counter()

  /// Starts `notibot` with these boards, by their names in the script's catalogue.
  /// - Parameter prefix: a program that starts it, with arguments.
  init(
    _ boards: [JSON], _ arguments: [String], prefix: [String] = [], environment: [String: String] = [:]
  ) throws {
    program = try Program(
      [Umockdev.python, MockScript.path("machine.py"), JSON.array(boards).description] + prefix + [
        Program.notibot
      ] + arguments,
      program: Umockdev.wrapper, environment: environment, input: nil)
  }

  /// Changes the mocked computer, and returns when it is done.
  func change(_ line: String) async throws {
    program.write(line + "\n")
    while try await program.errors.line(linesRead.next()) != "done: \(line)" {}
  }

  /// Sends a signal to `notibot`, not to the mock.
  func send(_ signal: Int32) { program.write("signal \(signal)\n") }

  /// Runs to the end.
  static func run(
    _ boards: [JSON], _ arguments: String..., prefix: [String] = [], environment: [String: String] = [:]
  ) async throws -> Program.Ending {
    let machine = try MockedMachine(boards, arguments, prefix: prefix, environment: environment)
    return await machine.program.ending()
  }

  /// From 0.
  private final class Counter: Sendable {
    private let value = Mutex(0)

    func next() -> Int {
      value.withLock { value in
        defer { value += 1 }
        return value
      }
    }
  }
}
