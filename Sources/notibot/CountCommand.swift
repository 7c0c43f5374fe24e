import ArgumentParser
import NotibotHost

/// `notibot count`: how many notifications the device holds.
struct CountCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "count", abstract: "Print how many notifications the device holds.",
    discussion: ExitStatus.helpTable)

  @OptionGroup var port: PortOptions

  @Flag(help: "Print one JSON document.")
  var json = false

  func run() async throws {
    let port = port
    let count = try await Interruption.cancelling {
      try await Board.with(port) { device in try await device.count() }
    }
    if json {
      try Output.json(Document(count: count))
    } else {
      Output.data("\(count)")
    }
  }

  private struct Document: Encodable {
    var count: Int
  }
}
