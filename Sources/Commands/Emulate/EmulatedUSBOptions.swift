import ArgumentParser
import DeviceEmulator
import NotibotProtocol
import SerialLink

/// The emulator as a USB device.
struct EmulatedUSBOptions: ParsableArguments {
  /// Devices of one emulator: what the controllers of Linux's vhci_hcd take.
  static let devicesLimit = 120

  @Option(
    help: ArgumentHelp(
      "Export the device over USB/IP at this address, instead of a pseudo-terminal; see docs/CLI.md.",
      discussion: "Port 0: any free port. Default host: 127.0.0.1.", valueName: "host:port"))
  var usbip: String?

  @Flag(
    help: ArgumentHelp(
      "Plug the device into this computer's virtual USB controller; needs root and the module vhci-hcd."))
  var usbipAttach = false

  @Option(
    help: ArgumentHelp(
      "USB hardware: jtag, cp2102 or ftdi; a list for several devices. Default: the profile's, else jtag.",
      valueName: "names"))
  var usb: String?

  @Option(
    help: ArgumentHelp(
      "USB serial number, at most 32 letters, digits and :.-. Default: the MAC address.", valueName: "text"))
  var serial: String?

  /// Whether the emulator is a USB device.
  var isUSB: Bool { usbip != nil || usbipAttach }

  func validate() throws {
    guard usbip == nil || !usbipAttach else {
      throw ValidationError("use only one of --usbip and --usbip-attach")
    }
    guard isUSB || usb == nil && serial == nil else {
      throw ValidationError("--usb and --serial need --usbip or --usbip-attach")
    }
    guard let serial else { return }
    let isPlain = serial.utf8.allSatisfy {
      switch $0 {
      case 0x30...0x3A, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E: true
      case _: false
      }
    }
    guard isPlain, 1...USBIdentity.serialLimit ~= serial.utf8.count else {
      throw ValidationError(
        "'\(serial.printable)' cannot be the serial number: use at most \(USBIdentity.serialLimit) letters, digits and :.-, for one device"
      )
    }
  }

  /// Refuses more devices than there can be; `count` is the number of each.
  func check(count: Int) throws {
    let all = try (personalities()?.count ?? 1) * count
    guard !isUSB || all <= Self.devicesLimit else {
      throw ValidationError("an emulator has at most \(Self.devicesLimit) devices on USB")
    }
    guard serial == nil || all == 1 else { throw ValidationError("--serial is for one device") }
  }

  /// The hardware that --usb names; nil without it.
  func personalities() throws -> [USBPersonality]? {
    try usb?.split(separator: ",", omittingEmptySubsequences: false).map { name in
      guard let personality = USBPersonality(rawValue: String(name)) else {
        let names = USBPersonality.allCases.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("unknown USB hardware '\(String(name).printable)': choose from \(names)")
      }
      return personality
    }
  }

  /// The devices to emulate, each with its port; none if the emulator is no USB device. Each
  /// further one has the next MAC address.
  /// - Parameters:
  ///   - chosen: the profile of the user; nil for that of the hardware.
  ///   - count: how often the list of the hardware is repeated.
  func devices(
    _ chosen: DeviceProfile?, count: Int, adapting: (DeviceProfile) throws -> DeviceProfile
  ) throws -> [(profile: DeviceProfile, port: USBPort)] {
    guard isUSB else { return [] }
    let controller = usbipAttach ? VirtualUSBController() : nil
    let list = try personalities() ?? [USBPersonality(of: chosen ?? .usbSerialJTAG)]
    return try repeatElement(list, count: count).joined().enumerated().map { index, personality in
      var profile = try adapting(chosen ?? personality.profile)
      profile.deviceID = profile.deviceID?.advanced(by: index)
      let serial = serial ?? personality.serial(ofMAC: profile.deviceID?.description ?? "\(index + 1)")
      let identity = USBIdentity(personality, serial: serial, number: UInt32(index + 1))
      return (profile, USBPort(identity, controller: controller))
    }
  }
}
