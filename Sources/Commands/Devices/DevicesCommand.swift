import ArgumentParser
import NIOCore
import NIOPosix
import NotibotHost
import SerialLink

/// `notibot devices`: the serial ports of this computer and the boards connected to them.
struct DevicesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "devices", abstract: "List serial ports and the boards connected to them.",
    discussion: """
      Ports marked * are known boards; 'auto' chooses among them. Nothing is written to any port, except with \
      --probe to known boards that are not in use. On boards where DTR and RTS drive reset, opening the port \
      restarts the board.
      """)

  @Flag(help: "Print one JSON document; with --watch, one per line.")
  var json = false

  @Flag(help: "Query each known board that is not in use, all at the same time.")
  var probe = false

  @Flag(help: "Print each port that is added or removed, until interrupted.")
  var watch = false

  @Flag(help: "Show udev's links as well.")
  var links = false

  @Option(
    help: ArgumentHelp(
      "List the Notibots that this Bluetooth adapter receives as well.", valueName: "adapter"))
  var ble: String?

  @Option(
    help: ArgumentHelp(
      """
      With --watch: time to run. With --probe: time limit for a board to answer. With --ble: time to \
      listen. 0.1-604800.
      """,
      discussion: "Default: until interrupted with --watch, 1 with --probe, 5 with --ble.",
      valueName: "seconds"))
  var timeout: Double?

  @OptionGroup var rate: RateOptions

  func validate() throws {
    guard !watch || (!probe && ble == nil) else {
      throw ValidationError("--watch cannot be combined with --probe or --ble")
    }
    guard probe || rate.baud == nil else { throw ValidationError("--baud requires --probe") }
    guard timeout == nil || watch || probe || ble != nil else {
      throw ValidationError("--timeout requires --watch, --probe or --ble")
    }
    guard (0.1...604_800).contains(timeout ?? 1) else {
      throw ValidationError("--timeout must be 0.1 to 604800 seconds")
    }
  }

  func run() async throws {
    let command = self
    if watch { Output.endWithReader() }
    if watch { return try await Interruption.cancelling { try await command.watchPorts() } }
    let ports = PortList().ports()
    let holders = PortHolder.holders(of: ports.map(\.path))
    var documents = ports.map { PortDocument($0, holder: holders[$0.path]) }
    if probe {
      documents = try await Interruption.cancelling { [documents] in try await command.probed(documents) }
    }
    let limit = Duration.seconds(timeout ?? 5)
    var advertised: [AdvertisedDevice]?
    if let ble {
      advertised = try await Interruption.cancelling {
        try await AdvertisedDevice.all(on: ble, within: limit)
      }
    }
    let emulators = RunningEmulator.all()
    if json {
      return try Output.json(
        Document(ports: documents, emulators: emulators, bluetooth: advertised), pretty: true)
    }
    if documents.isEmpty {
      Output.note("notibot: no serial port is present")
    } else {
      Output.data(table(of: documents))
    }
    if let advertised, !advertised.isEmpty { Output.data(AdvertisedDevice.table(of: advertised)) }
    if let ble, advertised?.isEmpty == true { Output.note("notibot: no Notibot advertises near \(ble)") }
    for emulator in emulators { Output.note("emulator: \(emulator.place) (process \(emulator.pid))") }
    if emulators.isEmpty, !documents.contains(where: \.isKnownBoard) {
      Output.note(
        "no board is connected: check the cable and 'notibot doctor', or begin without one: "
          + "notibot emulate --link /tmp/notibot")
    }
  }

  private func table(of ports: [PortDocument]) -> String {
    let heads =
      PortDocument.heads + (probe ? ["NOTIBOT"] : []) + (links ? ["BY ID", "BY PATH"] : [])
    let rows = ports.map { port in
      port.cells + (probe ? [port.answerCell] : [])
        + (links ? [port.byID ?? "-", port.byPath ?? "-"].map(\.printable) : [])
    }
    return Table.text([heads] + rows)
  }

  /// The document of `--json`.
  private struct Document: Encodable {
    var schema = "notibot.devices"
    var version = 1
    var ports: [PortDocument]
    var emulators: [RunningEmulator]
    /// With --ble.
    var bluetooth: [AdvertisedDevice]?
  }

  // MARK: Probing

  /// Probes all known boards that are not in use, in parallel.
  private func probed(_ ports: [PortDocument]) async throws -> [PortDocument] {
    var options = DeviceOptions()
    options.bitsPerSecond = try rate.resolvedBitsPerSecond().value
    options.connectTimeout = .seconds(timeout ?? 1)
    options.reconnection = .never
    return try await withThrowingTaskGroup(of: (Int, PortDocument).self) { [options] group in
      for (index, port) in ports.enumerated() {
        group.addTask { (index, try await Self.probed(port, options)) }
      }
      var answered = ports
      for try await (index, port) in group { answered[index] = port }
      return answered
    }
  }

  private static func probed(_ port: PortDocument, _ options: DeviceOptions) async throws -> PortDocument {
    var port = port
    guard port.isKnownBoard else {
      port.unasked = "not probed: unknown board"
      return port
    }
    guard port.heldBy == nil else {
      port.unasked = "not probed: in use"
      return port
    }
    do {
      port.notibot = try await withDevice(at: .address(.tty(path: port.port)), options: options) { device in
        let info = await device.info
        return PortDocument.Answer(
          deviceID: info.deviceID, firmware: info.firmwareName, version: info.firmwareVersion,
          count: try await device.count())
      }
    } catch let error as NotibotError {
      port.unasked = error.reason
    }
    return port
  }

  // MARK: Watching

  private func watchPorts() async throws {
    let (departures, continuation) = AsyncStream<String?>.makeStream(bufferingPolicy: .bufferingNewest(256))
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let arrivals = try await PortArrivals.watch(path: nil, interest: .departuresToo, on: loop) { gone in
      continuation.yield(gone)
    }
    let end = timeout.map { seconds in
      loop.scheduleTask(in: TimeAmount(.seconds(seconds))) { continuation.finish() }
    }
    let outcome: Result<Void, any Error>
    do {
      var watch = PortWatch()
      // The watch already runs, so that no change between it and the first listing is missed.
      try show(&watch)
      for await gone in departures {
        if let gone { watch.portLeft(gone) }
        try show(&watch)
      }
      outcome = .success(())
    } catch {
      outcome = .failure(error)
    }
    end?.cancel()
    await arrivals.close()
    try outcome.get()
  }

  private func show(_ watch: inout PortWatch) throws {
    watch.listed(PortList().ports())
    while let event = watch.nextEvent() {
      let document =
        switch event {
        case .present(let port): PortDocument(port, event: "present")
        case .added(let port): PortDocument(port, event: "added")
        case .removed(let port): PortDocument(port, event: "removed")
        }
      if json {
        try Output.json(document)
      } else {
        Output.data(document.line)
      }
    }
  }
}
