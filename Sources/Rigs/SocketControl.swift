import Conformance
import DeviceEmulator
import NotibotProtocol
import SerialLink

/// The path to the device through an emulator's control socket. Gives back the state that it found.
final class SocketControl: DeviceControl {
  /// An emulator that has ended closes the connection; one on a busy computer is only slow.
  private static let answerLimit = Duration.seconds(30)

  private let client: ControlClient
  private let line: ChannelLine
  /// Before the first change; nil if there was none.
  private var found: DeviceStatistics?

  init(client: ControlClient, line: ChannelLine) {
    self.client = client
    self.line = line
  }

  func attempt(_ command: DeviceCommand) async throws -> String? {
    if found == nil { found = try await statistics() }
    let end = line.now + .seconds(3)
    while true {
      let reply = try await reply(to: command)
      if reply.ok { return nil }
      let reason = reply.error ?? "no reason given"
      guard !command.concernsLine else {
        throw RigTrouble("the emulator refuses \(command): \(reason)", remedy: "check the emulator's log")
      }
      // A failed case can have left the device restarting; its output until then is discarded.
      guard reason.contains("restarting"), line.now < end else { return reason }
      _ = try await line.read(until: line.now + .milliseconds(20))
    }
  }

  /// Undoes what `attempt` has changed, as far as possible: notifications that were dismissed are
  /// gone. Also in a cancelled task.
  func giveBack() async {
    guard let found else { return }
    self.found = nil
    let commands: [DeviceCommand] = [
      .plug, .mode(DeviceMode(rawValue: found.mode) ?? .strict), .fill(found.otherWritersCount),
      found.isStalled ? .stall : .resume,
    ]
    for command in commands {
      // An emulator that has ended has no state. One that is plugged in refuses that.
      guard (try? await client.perform(command)) != nil else { return }
    }
  }

  func receiverCounters() async throws -> DecoderCounters { DecoderCounters(try await statistics()) }

  /// The device's state and counters.
  func statistics() async throws(RigTrouble) -> DeviceStatistics {
    guard let statistics = try await reply(to: .statistics).statistics else {
      throw RigTrouble("the emulator reports no statistics", remedy: "check the emulator's log")
    }
    return statistics
  }

  private func reply(to command: DeviceCommand) async throws(RigTrouble) -> ControlReply {
    do {
      return try await client.perform(command, timeout: Self.answerLimit)
    } catch {
      throw RigTrouble(
        error.message, remedy: "check whether the emulator is still running",
        part: error.kind == .noAnswer ? .silent : .any)
    }
  }
}
