import DeviceEmulator
import Foundation
import Rigs
import SerialLink

/// The target of a soak: a board, a proxy in front of it, an emulator in this process, or one in
/// another process.
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

  /// Starts the proxy or the emulator.
  /// - Parameters:
  ///   - control: the control socket of the emulator behind the port.
  ///   - folder: the folder for the link of a proxy or emulator.
  /// - Throws: `Failure` for options that cannot be combined, `PortError`.
  static func open(
    _ name: PortName, bitsPerSecond: UInt32, faults: FaultSpec, control: String?, folder: String
  ) async throws -> SoakTarget {
    if case .standIn(.emulator(let profile)) = name {
      let link = "\(folder)/port"
      let server = try await EmulatorServer.start(
        profile: try BoardAccess.profile(profile), faults: faults, link: link, seed: .randomSeed())
      return .emulator(server, link: link)
    }
    if let control {
      let client = ControlClient(path: control)
      let target = SoakTarget.controlled(client, port: name)
      try await target.mustPerform(.faults(faults))
      return target
    }
    if case .standIn(.qemu(let image)) = name { return try await firmware(image, faults: faults) }
    guard !faults.rules.isEmpty else { return .board(port: name) }
    let link = "\(folder)/proxy"
    let proxy = try await PortProxy.start(
      port: name, bitsPerSecond: bitsPerSecond, link: link, faults: faults, seed: .randomSeed())
    return .proxied(proxy, link: link)
  }

  /// Refuses options that have no effect on a device of this process, and faults that only an
  /// emulator supports. Throws `Failure`.
  static func check(_ faults: FaultSpec, for name: PortName, control: String?, recovers: Bool) throws {
    if name.isStandIn, let option = control != nil ? "--control" : recovers ? "--recover" : nil {
      throw Failure(
        .usage, "\(option) cannot be combined with --port \(name.description.printable)",
        remedy: "omit one of them")
    }
    if case .standIn(.emulator) = name { return }
    guard control == nil, faults.rules.contains(where: { $0.kind == .reboot }) else { return }
    throw Failure(
      .usage, "a proxy cannot restart a board",
      remedy: "omit reboot from --faults, or use an emulator with --control")
  }

  private static func firmware(_ image: String?, faults: FaultSpec) async throws -> SoakTarget {
    let setup = try QEMUSetup(image: image)
    return .firmware(
      try await QEMUBoard.start(setup, start: .whenOpened, faults: faults, seed: .randomSeed()))
  }

  func close() async {
    switch self {
    case .board, .controlled: break
    case .firmware(let board): await board.stop()
    case .proxied(let proxy, _): await proxy.stop()
    case .emulator(let server, _): await server.stop()
    }
  }

  /// Whether only the forwarder has the port of the board open.
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

  /// Sends a command to the emulator; `nil` if there is no emulator or it cannot be reached.
  func perform(_ command: DeviceCommand) async -> ControlReply? {
    switch self {
    case .board, .proxied, .firmware: nil
    case .emulator(let server, _): await server.perform(command)
    case .controlled(let client, _): try? await client.perform(command)
    }
  }

  private func mustPerform(_ command: DeviceCommand) async throws {
    guard case .controlled(let client, _) = self else { return }
    try await client.perform(command).check()
  }

  /// Turns the faults of an emulator off for good. Those of a proxy stay on.
  func calm() async {
    switch self {
    case .board, .proxied, .firmware: break
    case .emulator, .controlled:
      // Refused if it is already plugged in, which is fine.
      _ = await perform(.plug)
      _ = await perform(.faults(.off))
    }
  }

  /// The JSON of all notifications on the display; `nil` if unknown.
  func shown() async -> [String]? {
    guard isEmulated else { return nil }
    var items: [ControlReply.Item] = []
    while true {
      let from = items.last.map { $0.item + 1 } ?? 0
      guard let page = await perform(.list(from: from))?.items else { return nil }
      if page.isEmpty { return items.map(\.json) }
      items += page
    }
  }
}
