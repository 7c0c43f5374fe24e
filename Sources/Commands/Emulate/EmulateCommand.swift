import ArgumentParser
import DeviceEmulator
import Foundation
import NIOPosix
import NotibotProtocol
import SerialLink

/// `notibot emulate`: runs an emulated device until interrupted.
struct EmulateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "emulate",
    abstract: "Emulate a Notibot on a pseudo-terminal, on a TCP port or as a USB device.",
    discussion: """
      Prints one line with the port to open, and runs until SIGINT or SIGTERM; then removes the port, its link and its \
      sockets. `notibot control` unplugs it, restarts it and presses its buttons. With --rfc2217 or --tcp the port is \
      served over TCP, to one host at a time, instead of on a pseudo-terminal. With --usbip or --usbip-attach it is \
      a USB device, with a line for each. With --ble it is a Bluetooth LE peripheral as well.
      """)

  @Option(
    help: ArgumentHelp("Symbolic link to the port.", valueName: "path"),
    completion: .file())
  var link: String?

  @Option(
    help: ArgumentHelp(
      "Serve the port at this address over RFC 2217 (telnet, with modem lines and baud rate).",
      discussion: "Port 0: any free port. Default host: 127.0.0.1.", valueName: "host:port"))
  var rfc2217: String?

  @Option(
    help: ArgumentHelp("Serve the port at this address as plain bytes over TCP.", valueName: "host:port"))
  var tcp: String?

  @Option(
    help: ArgumentHelp("Accept commands of `notibot control` on this unix socket.", valueName: "path"),
    completion: .file())
  var control: String?

  @Option(
    help: ArgumentHelp(
      "Serve the attributes on this unix socket as well, as over BLE.",
      discussion: "Each record is a little-endian u16 length and one ATT PDU; each connection is a bearer.",
      valueName: "unix:path"))
  var att: String?

  @Option(
    help: ArgumentHelp(
      "First of the seven attribute handles, 1-65529; GAP and GATT are in front of it if there is room. "
        + "Default: the profile's.",
      valueName: "handle"))
  var firstHandle: UInt16?

  @Flag(help: "Serve the display as a page on 127.0.0.1, for a browser; see `notibot view`.")
  var view = false

  @Option(help: ArgumentHelp("TCP port of the page (default: any free port).", valueName: "port"))
  var viewPort: UInt16?

  @Option(
    help: ArgumentHelp(
      "Profile of the device; see --list-profiles. Default: default, or that of the USB hardware.",
      valueName: "name"),
    completion: .list(DeviceProfile.all.map(\.name)))
  var profile: String?

  @Option(
    help: ArgumentHelp(
      "strict, or firmware (answers every write with success). Default: the profile's.", valueName: "mode"))
  var mode: String?

  @Option(help: ArgumentHelp("Seed for boot ids and session ids (default: random).", valueName: "number"))
  var seed: UInt64?

  @Flag(help: "Limit the data rate to the baud rate that the host sets.")
  var baudPacing = false

  @Option(help: ArgumentHelp("Latency of each direction, 0-10000. Default: the profile's.", valueName: "ms"))
  var latency: Int?

  @Option(
    help: ArgumentHelp(
      "Inject line faults, for example flip=1e-4,reboot@5000; see docs/CLI.md.", valueName: "spec")
  )
  var faults: String?

  @OptionGroup var crowd: EmulatedCrowdOptions

  @OptionGroup var flashOptions: EmulatedFlashOptions

  @OptionGroup var usbOptions: EmulatedUSBOptions

  @OptionGroup var bluetooth: EmulatedBluetoothOptions

  @Flag(
    help:
      "Print one line of JSON for each device: device, port, usbip, control, att, ble, view, pid, profile, seed, faults."
  )
  var json = false

  @Flag(
    help: "End when standard input ends, such as a pipe from a process that ends; the exit code is 0.")
  var untilEof = false

  @Flag(help: "List the profiles and exit.")
  var listProfiles = false

  func validate() throws {
    _ = try att.map(UnixSocketOption.path)
    guard try control == nil || att.map(UnixSocketOption.path) != control else {
      throw ValidationError("--att and --control need a path each")
    }
    guard control?.contains(/#[0-9]+$/) != true else {
      throw ValidationError("--control must not end in # and a number, which names one of several devices")
    }
    guard [link, rfc2217, tcp].count(where: { $0 != nil }) + (usbOptions.isUSB ? 1 : 0) <= 1 else {
      throw ValidationError(
        "a device has one port: use only one of --link, --rfc2217, --tcp, --usbip and --usbip-attach")
    }
    guard 1...NotibotProfile.lastFirstHandle ~= firstHandle ?? 1 else {
      throw ValidationError("--first-handle must be 1 to \(NotibotProfile.lastFirstHandle)")
    }
    if viewPort != nil, !view { throw ValidationError("--view-port needs --view") }
    if let address = try address(), !usbOptions.isUSB { _ = try crowd.addresses(from: address) }
    let isForOne = att != nil || bluetooth.ble != nil || flashOptions.flashFile != nil || view
    guard try !isForOne || usbOptions.personalities()?.count ?? 1 == 1 && crowd.count == 1 else {
      throw ValidationError("--att, --ble, --flash-file and --view are for one device")
    }
    try usbOptions.check(count: crowd.count)
  }

  /// Where the port is served over TCP; nil for a pseudo-terminal.
  private func address() throws -> NetworkAddress? {
    func parsed(_ service: NetworkAddress.Service, _ text: String?) throws -> NetworkAddress? {
      guard let text else { return nil }
      guard let address = NetworkAddress(service, parsing: text) else {
        throw ValidationError(
          "'\(text.printable)' is not an address: use HOST:PORT, for example 127.0.0.1:4000")
      }
      return address
    }
    return try parsed(.rfc2217, rfc2217) ?? parsed(.bytes, tcp) ?? parsed(.bytes, usbOptions.usbip)
  }

  func run() async throws {
    if listProfiles { return try printProfiles() }
    let seed = seed ?? .randomSeed()
    let faults = try FaultOption.parsed(faults)
    let flash = try flashOptions.parsed()
    let address = try address()
    let link = try address == nil && !usbOptions.isUSB ? link ?? defaultLink() : nil
    if let address, !address.isLoopback {
      Output.note(
        "warning: anyone who can reach \(address.host.printable) can use this port; there is no password")
    }
    let directory = bluetooth.ble == nil || att != nil ? nil : try PrivateDirectory.make(for: "ble")
    defer { directory?.remove() }
    let attSocket = try att.map(UnixSocketOption.path) ?? directory.map { $0.path + "/att" }
    let chosen = try profile.map(BoardAccess.profile)
    var devices = try usbOptions.devices(chosen, count: crowd.count, adapting: adapted).map {
      ($0.profile, Optional($0.port))
    }
    if devices.isEmpty { devices = crowd.profiles(try adapted(chosen ?? .standard)).map { ($0, nil) } }
    try EmulatedCrowdOptions.reserve(for: devices.count)
    let addresses = usbOptions.isUSB ? nil : try address.map(crowd.addresses)
    let (plan, viewed, viewPort) = (devices, view, viewPort)
    let untilEof = untilEof
    Output.beginServing()
    try await Interruption.cancelling {
      if untilEof { Self.endWithInput() }
      var running = RunningEmulators()
      do {
        for (index, (profile, usb)) in plan.enumerated() {
          let link = link.map { crowd.link($0, index) }
          let server = try await EmulatorServer.start(
            profile: profile, faults: faults, flash: flash, link: link,
            address: addresses?[index], usb: usb, attSocket: attSocket,
            seed: seed &+ UInt64(index), on: running.loop)
          running.servers.append(server)
          let number = plan.count == 1 ? nil : index + 1
          running.announcements.append(
            Announcement(
              device: number, port: await server.portPath ?? link ?? "", busid: usb?.identity.busID,
              control: control.map { path in number.map { "\(path)#\($0)" } ?? path },
              att: att, pid: getpid(), profile: profile.name, seed: server.seed,
              faults: await server.faultSpec.description))
        }
        if let control { try await running.servers[0].openControl(at: control, for: running.servers) }
        if let address, usbOptions.isUSB { try await running.export(at: address) }
        if let attSocket,
          let radio = try await bluetooth.start(
            att: attSocket, of: plan[0].0, seed: seed)
        {
          running.radio = radio
          running.announcements[0].ble = radio.place
        }
        let page = viewed ? try await running.openPage(port: Int(viewPort ?? 0)) : nil
        for announcement in running.announcements { try announce(announcement) }
        if !json { running.describe() }
        if let page { await page.server.run(page.snapshots) }
      } catch {
        await running.stop()
        throw error
      }
      await Interruption.untilCancelled()
      if let failure = await running.stop() { throw failure }
    }
  }

  /// The emulators of this process, on one event loop.
  private struct RunningEmulators {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    var servers: [EmulatorServer] = []
    var announcements: [Announcement] = []
    private var listener: USBIPListener?
    var radio: EmulatedRadio?

    mutating func export(at address: NetworkAddress) async throws(PortError) {
      let listener = try await USBIPListener.open(address, for: servers, on: loop)
      self.listener = listener
      for index in announcements.indices {
        announcements[index].usbip = "\(listener.address.host):\(listener.address.port)"
      }
    }

    /// One line for each group of equal devices, without their seeds.
    func describe() {
      for (index, first) in announcements.enumerated()
      where index == 0 || first.profile != announcements[index - 1].profile {
        let count = announcements[index...].prefix { $0.profile == first.profile }.count
        let (devices, seeds) = count == 1 ? ("", "") : ("\(count) devices ", " and following")
        Output.note(
          "emulating \(devices)'\(first.profile)', seed \(first.seed)\(seeds), faults \(first.faults); press Ctrl-C to exit"
        )
      }
    }

    /// Serves the display of the only device.
    mutating func openPage(port: Int) async throws(PortError) -> (
      server: ViewServer, snapshots: AsyncStream<[UInt8]>
    )? {
      guard let device = servers.first, let snapshots = await device.view() else { return nil }
      let server = try await ViewServer.open(port: port, of: device)
      for index in announcements.indices { announcements[index].view = server.gate.address }
      return (server, snapshots)
    }

    /// Returns the failure that ended the radio before, if any.
    @discardableResult
    func stop() async -> Failure? {
      let failure = await radio?.stop()
      await listener?.close()
      for server in servers { await server.stop() }
      return failure
    }
  }

  private static func endWithInput() {
    Thread.detachNewThread {
      var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
      var bytes = [UInt8](repeating: 0, count: 4096)
      while true {
        // Another process can have made it non-blocking.
        _ = poll(&input, 1, -1)
        let count = read(STDIN_FILENO, &bytes, bytes.count)
        if count == 0 || count < 0 && errno != EINTR && errno != EAGAIN { return Interruption.end() }
      }
    }
  }

  private struct Announcement: Encodable {
    /// Its number, from 1, among several.
    var device: Int?
    var port: String
    /// Where the device is exported.
    var usbip: String?
    var busid: String?
    var control: String?
    var att: String?
    var ble: EmulatedRadio.Place?
    var view: String?
    var pid: Int32
    var profile: String
    var seed: UInt64
    var faults: String
  }

  private func announce(_ announcement: Announcement) throws {
    if json {
      try Output.json(announcement)
    } else {
      let place = announcement.usbip.map { "usbip: \($0) busid \(announcement.busid ?? "") " } ?? ""
      Output.data((place + announcement.port).printable)
      if let ble = announcement.ble {
        Output.data("ble: \(ble.name) \(ble.address) on \(ble.adapter)".printable)
      }
      if let view = announcement.view { Output.note("the display is at \(view)") }
    }
  }

  private func adapted(_ profile: DeviceProfile) throws -> DeviceProfile {
    var profile = profile
    if let mode {
      guard let chosen = DeviceMode(rawValue: mode) else {
        throw Failure(
          .usage, "unknown mode '\(mode.printable)'", remedy: "choose strict or firmware")
      }
      profile.mode = chosen
    }
    if baudPacing, profile.wire.pace == .unpaced { profile.wire.pace = .paced(bitsPerSecond: 115_200) }
    if let latency {
      guard (0...10_000).contains(latency) else {
        throw Failure(
          .usage, "a latency of \(latency) ms is out of range", remedy: "choose 0 to 10000")
      }
      profile.wire.latency = .milliseconds(latency)
    }
    if let firstHandle {
      profile.firstHandle = firstHandle
      profile.stack?.firstHandle = firstHandle
    }
    profile.bluetoothName = bluetooth.name
    return profile
  }

  /// Named for the process, so that unplugging does not change it.
  private func defaultLink() throws -> String {
    let directory = try StableLink.defaultDirectory(
      named: "notibot", environment: ProcessInfo.processInfo.environment)
    return "\(directory)/emulator-\(getpid())"
  }

  private struct ProfileRow: Encodable {
    var name: String
    var summary: String
    var mode: String
    var frames: UInt8
    var requests: UInt8
    var mtu: UInt16
    var bytes: UInt32
    var capacity: UInt16
  }

  private func printProfiles() throws {
    let rows = DeviceProfile.all.map {
      ProfileRow(
        name: $0.name, summary: $0.summary, mode: $0.mode.rawValue, frames: $0.limits.frames,
        requests: $0.limits.requests, mtu: $0.limits.mtu, bytes: $0.limits.bytes, capacity: $0.capacity)
    }
    if json { return try Output.json(rows) }
    let width = rows.map(\.name.count).max() ?? 0
    for row in rows {
      Output.data(row.name.padding(toLength: width + 2, withPad: " ", startingAt: 0) + row.summary)
    }
  }
}
