import ArgumentParser
import DeviceEmulator
import NotibotProtocol
import SerialLink

/// The emulator as a Bluetooth LE peripheral.
struct EmulatedBluetoothOptions: ParsableArguments {
  private static let nameLimitBytes = 29
  private static let centralsRange = 1...4

  @Option(
    help: ArgumentHelp(
      "Serve the attributes over Bluetooth LE as well, on this adapter; see docs/CLI.md.",
      discussion: "hciN, usb:N, usb:VID:PID, serial:/dev/NAME, tcp-client:HOST:PORT or android-netsim.",
      valueName: "adapter"))
  var ble: String?

  @Option(
    help: ArgumentHelp("Advertised name, with --ble; 1-29 bytes (default: Notibot).", valueName: "name"))
  var bleName: String?

  @Option(
    help: ArgumentHelp(
      "Static random address, with --ble; its first byte is C0-FF. Default: derived from the seed.",
      valueName: "address"))
  var bleAddress: String?

  @Option(
    help: ArgumentHelp("Connections at a time, with --ble, 1-4 (default: 4).", valueName: "number"))
  var bleCentrals: Int?

  /// The device name in GAP.
  var name: String { bleName ?? DeviceProfile.usualBluetoothName }

  func validate() throws {
    guard ble != nil || bleName == nil && bleAddress == nil && bleCentrals == nil else {
      throw ValidationError("--ble-name, --ble-address and --ble-centrals need --ble")
    }
    guard 1...Self.nameLimitBytes ~= bleName?.utf8.count ?? 1 else {
      throw ValidationError("--ble-name must have 1 to \(Self.nameLimitBytes) bytes")
    }
    if let bleAddress {
      let bytes = bleAddress.split(separator: ":", omittingEmptySubsequences: false)
      let values = bytes.compactMap { $0.count == 2 ? UInt8($0, radix: 16) : nil }
      guard bytes.count == 6, values.count == 6, values[0] >= 0xC0 else {
        throw ValidationError(
          "'\(bleAddress.printable)' is not a static random address: use six bytes, the first from C0 on, such as F0:01:02:03:04:05"
        )
      }
    }
    guard Self.centralsRange ~= bleCentrals ?? 1 else {
      throw ValidationError("--ble-centrals must be 1 to 4")
    }
  }

  /// Begins to advertise; nil without --ble.
  ///
  /// - Parameters:
  ///   - path: the attribute socket of the emulator.
  ///   - profile: its profile.
  ///   - seed: of the emulator, for its address: a phone remembers a device by that.
  func start(att path: String, of profile: DeviceProfile, seed: UInt64) async throws -> EmulatedRadio? {
    guard let ble else { return nil }
    var generator = SeededGenerator(seed: seed)
    let random = (0..<6).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
    let address = [random[0] | 0xC0] + random.dropFirst()
    let words = address.map { ($0 < 0x10 ? "0" : "") + String($0, radix: 16, uppercase: true) }
    let role =
      [
        "peripheral", "--att", path, "--name=\(name)",
        "--address", bleAddress ?? words.joined(separator: ":"), "--centrals", "\(bleCentrals ?? 4)",
      ] + (profile.handleBehindService.map { ["--own-from", "\($0)"] } ?? [])
    let (process, ready) = try await BluetoothProcess.start(role, on: ble)
    return EmulatedRadio(process, ready, adapter: ble)
  }
}

/// The emulator on the air.
struct EmulatedRadio: Sendable {
  struct Place: Encodable, Sendable {
    var name: String
    var address: String
    var adapter: String
  }

  let place: Place
  private let process: BluetoothProcess
  /// Prints what happens; ends with the failure that ended the process, if any.
  private let following: Task<Failure?, Never>

  fileprivate init(_ process: BluetoothProcess, _ ready: BluetoothProcess.Event, adapter: String) {
    self.process = process
    place = Place(name: ready.name ?? "", address: ready.address ?? "", adapter: adapter)
    following = Task {
      do {
        while true {
          let event = try await process.next()
          let reason = event.reason.map { ": \($0)" } ?? ""
          Output.note("ble: \(event.peer ?? "") \(event.event)\(reason)")
        }
      } catch let failure as Failure {
        Interruption.cancel()
        return failure
      } catch {
        return nil
      }
    }
  }

  /// Leaves the air. Returns the failure that had ended it before, if any.
  func stop() async -> Failure? {
    following.cancel()
    let failure = await following.value
    await process.stop()
    return failure
  }
}
