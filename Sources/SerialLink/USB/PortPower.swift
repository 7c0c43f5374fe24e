package import NIOCore

/// The power of a USB port, switched by the program `uhubctl` at a hub that supports it.
package enum PortPower {
  /// How long a board has to disappear after the program was started, and to return after that.
  package static let goingLimit = Duration.seconds(10)
  package static let returningLimit = Duration.seconds(20)

  /// Turns a port's power off and on, and returns the port when it has disappeared and returned;
  /// its name can have changed. Throws `Failure`, of kind `linkLost` if it did not return.
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
      throw noSwitch("\(location) is not a port of a hub")
    }
    guard let program = FileSystem.program(named: "uhubctl", searchPath: searchPath) else {
      throw Failure(
        .unfitEnvironment, "uhubctl is not installed", remedy: "sudo apt-get install uhubctl")
    }
    let folders = [ports.deviceRoot, "\(ports.deviceRoot)/serial/by-id"]
    // Watch before the program starts: when it returns, the board can be back already.
    async let isGone = PortWait.until(upTo: goingLimit, folders: folders, on: loop) {
      ports.port(at: location, interface: interface) == nil
    }
    try await run(program, ["-l", place.hub, "-p", "\(place.port)", "-a", "cycle"])
    guard try await isGone else {
      throw Failure(
        .unfitEnvironment, "uhubctl reported success, and the board never lost its supply",
        remedy: otherWays)
    }
    let isBack = try await PortWait.until(upTo: returningLimit, folders: folders, on: loop) {
      ports.port(at: location, interface: interface) != nil
    }
    guard isBack, let port = ports.port(at: location, interface: interface) else {
      throw Failure(
        .linkLost, "the board disappeared and did not return within 20 s",
        remedy: "pull the plug and put it in again")
    }
    return port
  }

  private static func run(_ program: String, _ arguments: [String]) async throws {
    let process = try await TiedProcess.start(program, arguments: arguments)
    let code = await process.exitCode(within: .seconds(60))
    let said = ((try? await process.ended.get()) ?? "").split(separator: "\n").first.map(String.init) ?? ""
    if code == 0 { return }
    if said.hasPrefix("No compatible devices detected") { throw noSwitch(said) }
    let reason = said.isEmpty ? "it ended with \(code.map(String.init) ?? "a signal")" : said.printable
    throw Failure(
      .unfitEnvironment, "uhubctl failed: \(reason)", remedy: "run uhubctl by hand; it may need root")
  }

  private static let otherWays = "use a hub with per-port power switching, or pull the plug by hand"

  private static func noSwitch(_ reason: String) -> Failure {
    Failure(
      .unfitEnvironment, "no hub there switches its ports: \(reason.printable)", remedy: otherWays)
  }
}

extension FileSystem {
  /// The first program of that name in the directories of PATH.
  static func program(named name: String, searchPath: String) -> String? {
    searchPath.split(separator: ":").map { "\($0)/\(name)" }.first { isExecutable($0) }
  }
}
