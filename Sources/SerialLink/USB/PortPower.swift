package import NIOCore

/// The power of a USB port, switched by the program `uhubctl` at a hub that supports it.
package enum PortPower {
  /// Why a board could not be turned off and on.
  package enum Failure: Error, Hashable, Sendable {
    /// The program is not in PATH.
    case notInstalled
    /// No hub there can switch; the program's output.
    case noSwitch(String)
    /// The program failed for another reason; its output.
    case failed(String)
    /// The program reported success, but the board stayed connected: the hub only claims to switch.
    case neverWent
    /// It disappeared, and did not return in time.
    case neverReturned
  }

  /// How long a board has to disappear after the program was started, and to return after that.
  package static let goingLimit = Duration.seconds(10)
  package static let returningLimit = Duration.seconds(20)

  /// Turns a port's power off and on, and returns the port when it has disappeared and returned;
  /// its name can have changed.
  ///
  /// - Parameters:
  ///   - location: the location of the board, as in `PortInfo.USB`.
  ///   - interface: the port of the device.
  ///   - ports: the list of ports to search.
  ///   - searchPath: the value of PATH.
  package static func cycle(
    location: String, interface: Int?, ports: PortList = PortList(), searchPath: String,
    on loop: any EventLoop
  ) async throws -> PortInfo {
    guard let place = USBPlace(location: location) else {
      throw Failure.noSwitch("\(location) is not a port of a hub")
    }
    guard let program = FileSystem.program(named: "uhubctl", searchPath: searchPath) else {
      throw Failure.notInstalled
    }
    let folders = [ports.deviceRoot, "\(ports.deviceRoot)/serial/by-id"]
    // Watch before the program starts: when it returns, the board can be back already.
    async let isGone = PortWait.until(upTo: goingLimit, folders: folders, on: loop) {
      ports.port(at: location, interface: interface) == nil
    }
    try await run(program, ["-l", place.hub, "-p", "\(place.port)", "-a", "cycle"])
    guard try await isGone else { throw Failure.neverWent }
    let isBack = try await PortWait.until(upTo: returningLimit, folders: folders, on: loop) {
      ports.port(at: location, interface: interface) != nil
    }
    guard isBack, let port = ports.port(at: location, interface: interface) else {
      throw Failure.neverReturned
    }
    return port
  }

  private static func run(_ program: String, _ arguments: [String]) async throws {
    let process = try await TiedProcess.start(program, arguments: arguments)
    let code = await process.exitCode(within: .seconds(60))
    let said = ((try? await process.ended.get()) ?? "").split(separator: "\n").first.map(String.init) ?? ""
    if code == 0 { return }
    if said.hasPrefix("No compatible devices detected") { throw Failure.noSwitch(said) }
    throw Failure.failed(said.isEmpty ? "it ended with \(code.map(String.init) ?? "a signal")" : said)
  }
}

extension PortPower.Failure: CustomStringConvertible {
  /// The reason, in a few words. Safe to print.
  package var description: String {
    switch self {
    case .notInstalled: "uhubctl is not installed"
    case .noSwitch(let said): "no hub there switches its ports: \(said.printable)"
    case .failed(let said): "uhubctl failed: \(said.printable)"
    case .neverWent: "uhubctl reported success, and the board never lost its supply"
    case .neverReturned: "the board disappeared and did not return within 20 s"
    }
  }

  /// The action for the user. Safe to print.
  package var hint: String {
    switch self {
    case .notInstalled: "sudo apt-get install uhubctl"
    case .noSwitch, .neverWent: "use a hub with per-port power switching, or pull the plug by hand"
    case .failed: "run uhubctl by hand; it may need root"
    case .neverReturned: "pull the plug and put it in again"
    }
  }
}

extension FileSystem {
  /// The first program of that name in the directories of PATH.
  static func program(named name: String, searchPath: String) -> String? {
    searchPath.split(separator: ":").map { "\($0)/\(name)" }.first { isExecutable($0) }
  }
}
