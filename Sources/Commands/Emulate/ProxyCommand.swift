import ArgumentParser
import DeviceEmulator
import Foundation
import Rigs
import SerialLink

/// `notibot proxy`: injects faults into the line of a board until interrupted.
struct ProxyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "proxy",
    abstract: "Offer a board's port under another name and inject faults into its line.",
    discussion: """
      Opens the port, creates a pseudo-terminal and a link to it, prints the link, and passes bytes in both directions \
      until SIGINT or SIGTERM. The host's baud rate is applied to the port. The link disappears and returns with the \
      board. At the end the injected faults are counted on stderr.
      """)

  @OptionGroup var port: PortOptions

  @Option(
    help: ArgumentHelp("Symbolic link to the offered port.", valueName: "path"),
    completion: .file())
  var link: String?

  @Option(
    help: ArgumentHelp(
      "Inject line faults, for example flip=1e-4,unplug@5000; see docs/CLI.md.", valueName: "spec")
  )
  var faults: String?

  @Flag(help: "Print one line of JSON: port, target, pid, faults.")
  var json = false

  func run() async throws {
    let faults = try FaultOption.parsed(faults)
    guard !faults.rules.contains(where: { $0.kind == .reboot }) else {
      throw Failure(
        .usage, "a proxy cannot restart a board",
        remedy: "omit reboot from --faults, or use 'notibot emulate'")
    }
    let target = try port.resolvedPort().value
    let bitsPerSecond = try port.resolvedBitsPerSecond().value
    let link = try link ?? defaultLink()
    Output.beginServing()
    try await Interruption.cancelling {
      try await BoardAccess.withPort(port.line) { name in
        let board = try await BoardAccess.located(
          name, bitsPerSecond: bitsPerSecond,
          timeout: .seconds(port.answer.timeout))
        let proxy = try await PortProxy.start(
          port: board, bitsPerSecond: bitsPerSecond, link: link, faults: faults,
          seed: .randomSeed(), report: Self.show)
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
        "in front of \(announcement.target.printable), faults \(announcement.faults); press Ctrl-C to exit")
    }
  }

  private static func show(_ event: PortProxy.Event) {
    switch event {
    case .broken(.boardGone): Output.note("the board disappeared; waiting for it to return")
    case .broken(.plugPulled): Output.note("unplugged by a fault")
    case .broken(.terminalGone): Output.note("the offered port failed; creating a new one")
    case .restored: Output.note("the port is back")
    case .rateRefused(let rate):
      Output.note("the board's port does not support \(rate) baud; its rate is unchanged")
    }
  }

  /// Named for the process, so that unplugging does not change it.
  private func defaultLink() throws -> String {
    let directory = try StableLink.defaultDirectory(
      named: "notibot", environment: ProcessInfo.processInfo.environment)
    return "\(directory)/proxy-\(getpid())"
  }
}
