import Conformance
import Foundation
import Rigs
import SerialLink

/// A device on the air as a socket: each connection to the socket is a link to it, one at a time.
final class BluetoothHost: Sendable {
  /// The socket.
  let path: String
  private let process: BluetoothProcess
  private let directory: PrivateDirectory

  private init(path: String, process: BluetoothProcess, directory: PrivateDirectory) {
    (self.path, self.process, self.directory) = (path, process, directory)
  }

  /// The adapter of a port's name, else that of `NOTIBOT_BLE_ADAPTER`.
  static func adapter(_ named: String?, for port: PortName) throws -> String {
    let variable = ProcessInfo.processInfo.environment["NOTIBOT_BLE_ADAPTER"] ?? ""
    guard let adapter = named ?? (variable.isEmpty ? nil : variable) else {
      throw Failure(
        .usage, "\(port) names no Bluetooth adapter",
        remedy: "add it, as in \(port)@hci0, or set NOTIBOT_BLE_ADAPTER")
    }
    return adapter
  }

  /// Opens the adapter. The device is looked for when a connection is made.
  static func start(_ peer: String, on adapter: String) async throws -> BluetoothHost {
    let directory = try PrivateDirectory.make(for: "ble")
    do {
      let path = directory.path + "/att"
      let (process, _) = try await BluetoothProcess.start(
        ["central", "--socket", path, "--peer=\(peer)"], on: adapter)
      return BluetoothHost(path: path, process: process, directory: directory)
    } catch {
      directory.remove()
      throw error
    }
  }

  /// Waits for the link of the connection that was made last; returns its interval.
  func awaitLink() async throws -> Duration {
    while true {
      let event = try await process.next()
      if event.event == "connected" { return .milliseconds(event.intervalMs ?? 0) }
    }
  }

  /// Why the last link has ended, and whether that is for good. The process reports each end, also
  /// its own.
  func endOfLink() async -> (failure: Failure, isFinal: Bool)? {
    while let event = await process.nextEvent() {
      if let failure = event.failure { return (failure, event.isFinal ?? false) }
      guard event.event == "disconnected" else { continue }
      return (Failure(.linkLost, "the connection was lost: \(event.reason ?? "no reason")"), false)
    }
    return nil
  }

  /// Disconnects, and leaves the air.
  func close() async {
    await process.stop()
    directory.remove()
  }

  /// Connects to a device and determines its capabilities.
  ///
  /// - Parameters:
  ///   - control: the control socket of the emulator that the device is; nil for a board.
  ///   - server: what answers on the device.
  static func openRig(
    _ peer: String, on adapter: String, control: String?, server: AttributeServer, answerTimeout: Duration
  ) async throws -> BLERig {
    let host = try await start(peer, on: adapter)
    do {
      let air = BLERig.Air(host.awaitLink, close: host.close)
      return try await BLERig.open(
        host.path, control: control, server: server, answerTimeout: answerTimeout, air: air)
    } catch {
      await host.close()
      throw error
    }
  }
}

/// A Notibot that advertises.
struct AdvertisedDevice: Encodable {
  var address: String
  var name: String?
  var rssi: Int?

  /// The devices that an adapter receives within `limit`.
  static func all(on adapter: String, within limit: Duration) async throws -> [AdvertisedDevice] {
    let (process, _) = try await BluetoothProcess.start(["scan"], on: adapter)
    process.finishEvents(after: limit)
    var found: [AdvertisedDevice] = []
    while let event = await process.nextEvent() {
      guard event.event == "found", let address = event.peer else { continue }
      // It is reported again when its name becomes known.
      found.removeAll { $0.address == address }
      found.append(AdvertisedDevice(address: address, name: event.name, rssi: event.rssi))
    }
    await process.stop()
    try Task.checkCancellation()
    return found
  }

  static func table(of devices: [AdvertisedDevice]) -> String {
    Table.text(
      [["BLE ADDRESS", "NAME", "RSSI"]]
        + devices.map { [$0.address, $0.name ?? "-", $0.rssi.map { "\($0) dBm" } ?? "-"].map(\.printable) })
  }
}
