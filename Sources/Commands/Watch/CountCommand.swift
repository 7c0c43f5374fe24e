import ArgumentParser
import NotibotHost

/// `notibot count`: prints how many notifications the device holds.
struct CountCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "count", abstract: "Print the number of notifications on the device.")

  @OptionGroup var port: PortOptions

  @Flag(help: "Print one JSON document.")
  var json = false

  func run() async throws {
    let port = port
    let (count, bootID) = try await Interruption.cancelling {
      try await BoardAccess.with(port) { device in
        let count = try await device.count()
        return (count, device.carrier == .sessions ? await device.info.bootID : nil)
      }
    }
    if json {
      try Output.json(Document(count: count, bootID: bootID.map(ResetReport.hex)))
    } else {
      Output.data("\(count)")
    }
  }

  private struct Document: Encodable {
    var count: Int
    /// Random at each boot: a new one means that the device restarted. A connection has none.
    var bootID: String?
  }
}
