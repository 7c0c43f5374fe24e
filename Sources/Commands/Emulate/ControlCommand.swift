import ArgumentParser
import DeviceEmulator
import Foundation
import NotibotProtocol
import SerialLink

/// `notibot control`: sends a command to an emulator in another process.
struct ControlCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "control",
    abstract: "Unplug or restart an emulator, press its buttons, or read its state.",
    discussion: """
      COMMANDS
      \(ControlRequest.forms.map { row($0.words, $0.meaning) }.joined(separator: "\n"))
      """)

  private static func row(_ words: String, _ meaning: String) -> String {
    "  " + words + String(repeating: " ", count: max(1, 23 - words.count)) + meaning
  }

  @Option(
    help: ArgumentHelp("Control socket of `notibot emulate --control`.", valueName: "path"),
    completion: .file())
  var socket: String

  @Flag(help: "Print the answer as one line of JSON.")
  var json = false

  @Argument(
    help: "Command and its arguments.",
    completion: .list(ControlRequest.forms.map { String($0.words.prefix { $0 != " " }) }))
  var words: [String]

  func run() async throws {
    // There is no port to close.
    Interruption.release()
    let request: ControlRequest
    do {
      request = try ControlRequest(words: words)
    } catch {
      throw Failure(.usage, "\(error)".printable)
    }
    // A wait is ended by the emulator.
    let timeout = request.command == "wait" ? EmulatorServer.waitLimit + .seconds(5) : .seconds(5)
    let reply = try await ControlClient(path: socket).send(request, timeout: timeout)
    if json { try Output.json(reply) }
    try reply.check()
    if !json { try show(reply) }
  }

  private func show(_ reply: ControlReply) throws {
    if reply.port == nil, reply.statistics == nil, reply.items == nil {
      Output.note("done: \(words.joined(separator: " ").printable)")
    }
    if let port = reply.port { Output.data(port.printable) }
    if let statistics = reply.statistics { try Output.json(statistics, pretty: true) }
    for item in reply.items ?? [] { Output.data("\(item.item)\t\(item.json.printable)\(identity(of: item))") }
  }

  /// A third column, for notifications with an identity.
  private func identity(of item: ControlReply.Item) -> String {
    guard let id = item.id, let source = item.src, let revision = item.rev, let level = item.lvl else {
      return ""
    }
    let marks = [
      item.preexisting == true ? ", pre-existing" : "", item.expired == true ? ", expired" : "",
    ]
    return "\tid \(id), src \(source), rev \(revision), lvl \(level)\(marks.joined())"
  }
}

extension ControlReply {
  /// Throws `Failure` of kind `refused` unless the emulator did what it was asked for.
  func check() throws(Failure) {
    guard ok else {
      throw Failure(.refused, "the emulator refused: \((error ?? "no reason given").printable)")
    }
  }
}
