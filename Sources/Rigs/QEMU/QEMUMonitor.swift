import Foundation
import SerialLink

/// QEMU's monitor: one JSON command per line, one JSON answer per line, events between them.
/// Source: docs/interop/qmp-spec of QEMU 7.2.
struct QEMUMonitor: Sendable {
  private struct Message: Decodable {
    struct Failure: Decodable {
      var desc: String
    }
    struct Nothing: Decodable {}

    var greeting: Nothing?
    var answer: Nothing?
    var error: Failure?
    var event: String?
    var id: UInt32?

    enum CodingKeys: String, CodingKey {
      case greeting = "QMP"
      case answer = "return"
      case error, event, id
    }

    init?(_ line: String) {
      guard let message = try? JSONDecoder().decode(Message.self, from: Data(line.utf8)) else { return nil }
      self = message
    }
  }

  let conversation: LineConversation

  /// Waits for the greeting and begins. QEMU has built its machine when it answers.
  func begin() async throws(Failure) {
    _ = try await conversation.ask(nil, wanted: [{ Message($0)?.greeting != nil }])
    try await execute("qmp_capabilities")
  }

  /// Runs a command without arguments, and waits for its answer and, if given, for an event that
  /// follows from it.
  ///
  /// - Returns: the answer, a line of JSON.
  @discardableResult
  func execute(_ command: String, event: String? = nil) async throws(Failure) -> String {
    // Distinguishes its answer from that of a command whose answer nobody waited for.
    let id = UInt32.random(in: 0 ... .max)
    var wanted: [@Sendable (String) -> Bool] = [{ Message($0)?.id == id }]
    if let event { wanted.append { Message($0)?.event == event } }
    let answer = try await conversation.ask(Self.line(command, id: id), wanted: wanted)
    guard let error = Message(answer)?.error else { return answer }
    throw Failure(
      qemu: "QEMU refuses '\(command)': \(error.desc)", remedy: "use QEMU 7.2 or a later one")
  }

  /// Returns when QEMU has noticed that the connection to one of its sockets was opened or closed:
  /// until then it drops the firmware's output, or reads bytes that were sent before. Each query is
  /// a turn of QEMU's loop.
  func awaitLine(isOpen: Bool) async throws(Failure) {
    for _ in 0..<Self.questionsLimit {
      let answer = try await execute("query-chardev")
      if answer.contains("disconnected:unix:") != isOpen { return }
    }
    throw .qemuSilent
  }

  /// How often `awaitLine` polls.
  private static let questionsLimit = 1000

  /// Starts the CPU without waiting for the answer.
  func letRun() {
    conversation.send(Self.line("cont", id: 0))
  }

  private static func line(_ command: String, id: UInt32) -> String {
    "{\"execute\":\"\(command)\",\"id\":\(id)}"
  }
}
