import DeviceEmulator
import Foundation
import SerialLink

/// What a soak sends to: a board, a proxy of its own before it, an emulator of its own, or one in another process.
enum SoakTarget {
  case board(port: PortName)
  case proxied(PortProxy, link: String)
  case emulator(EmulatorServer, link: String)
  case firmware(QEMUBoard)
  case controlled(ControlClient, port: PortName)

  /// The port that the forwarder opens.
  var port: PortName {
    switch self {
    case .board(let port), .controlled(_, let port): port
    case .proxied(_, let link), .emulator(_, let link): .address(.tty(path: link))
    case .firmware(let board): .address(.tty(path: board.portPath))
    }
  }

  /// Starts what stands between, or instead.
  /// - Parameters:
  ///   - control: the control socket of the emulator behind the port.
  ///   - folder: where a proxy's or emulator's link may be made.
  /// - Throws: `CommandFailure` for options that do not go together, `PortError`.
  static func open(
    _ name: PortName, bitsPerSecond: UInt32, faults: FaultSpec, control: String?, folder: String
  ) async throws -> SoakTarget {
    if case .standIn(.emulator(let profile)) = name {
      let link = "\(folder)/port"
      let server = try await EmulatorServer.start(
        profile: try Board.profile(profile), faults: faults, link: link, seed: .randomSeed())
      return .emulator(server, link: link)
    }
    if let control {
      let client = ControlClient(path: control)
      let target = SoakTarget.controlled(client, port: name)
      try await target.mustPerform(.faults(faults))
      return target
    }
    try check(faults, for: name, control: control)
    if case .standIn(.qemu(let image)) = name { return try await firmware(image, faults: faults) }
    guard !faults.rules.isEmpty else { return .board(port: name) }
    let link = "\(folder)/proxy"
    let proxy = try await PortProxy.start(
      port: name, bitsPerSecond: bitsPerSecond, link: link, faults: faults, seed: .randomSeed())
    return .proxied(proxy, link: link)
  }

  /// Refuses faults that only an emulator can do. Throws `CommandFailure`.
  static func check(_ faults: FaultSpec, for name: PortName, control: String?) throws {
    if case .standIn(.emulator) = name { return }
    guard control == nil, faults.rules.contains(where: { $0.kind == .reboot }) else { return }
    throw CommandFailure(
      .usage, "a proxy cannot restart a board",
      remedy: "leave reboot out of --faults, or soak an emulator with --control")
  }

  private static func firmware(_ image: String?, faults: FaultSpec) async throws -> SoakTarget {
    do {
      let setup = try QEMUSetup(image: image)
      return .firmware(
        try await QEMUBoard.start(setup, start: .whenOpened, faults: faults, seed: .randomSeed()))
    } catch let error as QEMUFailure {
      throw CommandFailure(error)
    }
  }

  func close() async {
    switch self {
    case .board, .controlled: break
    case .firmware(let board): await board.stop()
    case .proxied(let proxy, _): await proxy.stop()
    case .emulator(let server, _): await server.stop()
    }
  }

  /// Whether nobody but the forwarder has the port of the board open.
  var leavesPortFree: Bool {
    switch self {
    case .board, .controlled: true
    case .proxied, .emulator, .firmware: false
    }
  }

  /// Whether it can be restarted, unplugged and listed.
  var isEmulated: Bool {
    switch self {
    case .emulator, .controlled: true
    case .board, .proxied, .firmware: false
    }
  }

  /// Does something to the emulator, if there is one; `nil` when there is none or it cannot be reached.
  func perform(_ command: EmulatorCommand) async -> ControlReply? {
    switch self {
    case .board, .proxied, .firmware: nil
    case .emulator(let server, _): await server.perform(command)
    case .controlled(let client, _): try? await client.perform(command)
    }
  }

  private func mustPerform(_ command: EmulatorCommand) async throws {
    guard case .controlled(let client, _) = self else { return }
    do {
      let reply = try await client.perform(command)
      guard reply.ok else {
        throw CommandFailure(
          .refused, "the emulator refused: \((reply.error ?? "no reason given").printable)")
      }
    } catch let failure as ControlClient.Failure {
      throw CommandFailure(failure)
    }
  }

  /// Mends an emulator's line for good. A proxy's stays as it is.
  func calm() async {
    switch self {
    case .board, .proxied, .firmware: break
    case .emulator, .controlled:
      // Refused where it is plugged in, which is as well.
      _ = await perform(.plug)
      _ = await perform(.faults(.off))
    }
  }

  /// The JSON of all that is on the display; `nil` when nobody can tell.
  func shown() async -> [String]? {
    guard isEmulated else { return nil }
    var items: [ControlReply.Item] = []
    while true {
      let from = items.last.map { $0.item + 1 } ?? 0
      guard let page = await perform(.device(.list(from: from)))?.items else { return nil }
      if page.isEmpty { return items.map(\.json) }
      items += page
    }
  }
}
