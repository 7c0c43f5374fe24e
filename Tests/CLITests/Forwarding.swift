import Foundation
import Glibc

/// Runs `notibot forward` with its own outbox and an emulator.
struct Forwarding {
  let emulator: Emulator

  var outbox: String { emulator.directory.file("outbox") }

  static func line(_ title: String) -> String {
    #"{"app":"Messages","title":"\#(title)","text":"See you","timestamp":1234567890}"#
  }

  static func lines(_ numbers: ClosedRange<Int>) -> String {
    numbers.map { line("\($0)") + "\n" }.joined()
  }

  /// Starts it; `input: nil` keeps its input open.
  func start(
    _ options: String..., input: String? = nil, environment: [String: String] = [:]
  ) throws -> Program {
    try Program(
      ["forward", "-p", emulator.port, "--outbox", outbox, "--json"] + options, environment: environment,
      input: input)
  }

  /// Runs it to its end.
  func run(
    _ options: String..., input: String = "", environment: [String: String] = [:]
  ) async throws -> Program.Ending {
    try await Program(
      ["forward", "-p", emulator.port, "--outbox", outbox, "--json"] + options, environment: environment,
      input: input
    ).ending()
  }

  /// The titles on the display, oldest first.
  func titles() async throws -> [String] {
    try await emulator.stored().compactMap { try JSON(parsing: $0)["title"].string }
  }
}

/// Runs `body` with an emulator to forward to.
func withForwarding<Result>(_ options: String..., body: (Forwarding) async throws -> Result) async throws
  -> Result
{
  let emulator = try await Emulator(options)
  do {
    let result = try await body(Forwarding(emulator: emulator))
    await emulator.stop()
    return result
  } catch {
    await emulator.stop()
    throw error
  }
}

extension Program.Ending {
  /// The documents of stdout.
  func documents() throws -> [JSON] { try lines.map { try JSON(parsing: $0) } }

  /// The numbers with this result, in order.
  func numbers(_ result: String) throws -> [Int] {
    try documents().filter { $0["result"] == .string(result) }.compactMap {
      $0["number"].number.map { Int($0) }
    }
  }
}

extension Program {
  /// Reads documents of stdout until one satisfies the condition, and returns it. Throws if the
  /// stream ends before.
  @discardableResult
  func document(where condition: (JSON) -> Bool) async throws -> JSON {
    var index = 0
    while true {
      let document = try JSON(parsing: try await output.line(index))
      if condition(document) { return document }
      index += 1
    }
  }

  /// Waits for this result of the notification of this number.
  func result(_ result: String, of number: Int) async throws {
    try await document {
      $0["result"] == .string(result) && $0["number"] == .number(Double(number))
    }
  }
}
