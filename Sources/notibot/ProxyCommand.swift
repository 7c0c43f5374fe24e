import ArgumentParser
import DeviceEmulator
import Foundation
import SerialLink

/// `notibot proxy`: a bad line in front of a good board, until interrupted.
struct ProxyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "proxy",
    abstract: "Stands between a host and a board, and damages what passes.",
    discussion: """
      Opens the port, offers another under a link, prints the link, and passes bytes both ways until SIGINT or \
      SIGTERM. The host's baud rate is handed on. A board that goes away takes the offered port with it, and brings \
      it back. At the end the faults that happened are counted on stderr.

      \(ExitStatus.helpTable)
      """)

  @OptionGroup var port: PortOptions

  @Option(help: ArgumentHelp("Keep the offered port under this symbolic link.", valueName: "path"))
  var link: String?

  @Option(
    help: ArgumentHelp("Damage the line so, as in flip=1e-4,unplug@5000; see docs/CLI.md.", valueName: "spec")
  )
  var faults: String?

  @Flag(help: "Print one line of JSON: port, target, pid, faults.")
  var json = false

  func run() async throws {
    let faults = try FaultOption.parsed(faults)
    guard !faults.rules.contains(where: { $0.kind == .reboot }) else {
      throw CommandFailure(
        .usage, "a proxy cannot restart a board", remedy: "leave reboot out of --faults, or use emulate")
    }
    let target = try port.resolvedPort().value
    let bitsPerSecond = try port.resolvedBitsPerSecond().value
    let link = try link ?? defaultLink()
    try await Interruption.cancelling {
      try await Board.withPort(port.line) { name in
        let board = try await Board.located(
          name, bitsPerSecond: bitsPerSecond,
          timeout: .seconds(port.answer.timeout))
        let proxy = try await PortProxy.start(
          port: board, bitsPerSecond: bitsPerSecond, link: link, faults: faults,
          seed: .randomSeed(), report: Self.tell)
        do {
          try announce(
            Announcement(
              port: link, target: target.description, pid: getpid(), faults: await proxy.faultSpec.description
            ))
        } catch {
          await proxy.stop()
          throw error
        }
        await Interruption.untilCancelled()
        let counts = await proxy.faultCounts
        await proxy.stop()
        let named = counts.byName.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        Output.note("faults: \(named.joined(separator: ", "))")
      }
    }
  }

  private struct Announcement: Encodable {
    var schema = "notibot.proxy"
    var version = 1
    var port: String
    var target: String
    var pid: Int32
    var faults: String
  }

  private func announce(_ announcement: Announcement) throws {
    if json {
      try Output.json(announcement)
    } else {
      Output.data(announcement.port)
      Output.note(
        "in front of \(announcement.target.printable), faults \(announcement.faults); Ctrl-C ends it")
    }
  }

  private static func tell(_ event: PortProxy.Event) {
    switch event {
    case .broken(.boardGone): Output.note("the board went away; waiting for it")
    case .broken(.plugPulled): Output.note("a fault pulled the plug")
    case .broken(.terminalGone): Output.note("the offered port failed; making another")
    case .mended: Output.note("the port is back")
    case .rateRefused(let rate): Output.note("the board's port does not take \(rate) baud; its rate stays")
    }
  }

  /// A name of its own for each proxy that runs, so that unplugging does not change it.
  private func defaultLink() throws -> String {
    let directory = try StableLink.defaultDirectory(
      named: "notibot", environment: ProcessInfo.processInfo.environment)
    return "\(directory)/proxy-\(getpid())"
  }
}
