import SerialLink

@testable import DeviceEmulator

/// Messages of a USB/IP host, written out by hand.
enum USBHost {
  static let deviceID: UInt32 = 0x0001_0002

  static func be(_ number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  /// CMD_SUBMIT.
  static func submit(
    _ sequence: UInt32, endpoint: UInt32, isIn: Bool, length: Int, setup: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0],
    data: [UInt8] = [], device: UInt32 = deviceID
  ) -> [UInt8] {
    be(1) + be(sequence) + be(device) + be(isIn ? 1 : 0) + be(endpoint) + be(0) + be(UInt32(length)) + be(0)
      + be(0) + be(0) + setup + data
  }

  /// A control request to the host: `80 06 0100 0 18` is `get(…, 0x80, 0x06, 0x0100, 0, 18)`.
  static func get(
    _ sequence: UInt32, _ type: UInt8, _ request: UInt8, _ value: UInt16, _ index: UInt16, _ length: UInt16
  ) -> [UInt8] {
    submit(
      sequence, endpoint: 0, isIn: true, length: Int(length),
      setup: setup(type, request, value, index, length))
  }

  /// A control request from the host.
  static func set(
    _ sequence: UInt32, _ type: UInt8, _ request: UInt8, _ value: UInt16, _ data: [UInt8] = []
  ) -> [UInt8] {
    submit(
      sequence, endpoint: 0, isIn: false, length: data.count,
      setup: setup(type, request, value, 0, UInt16(data.count)), data: data)
  }

  static func read(_ sequence: UInt32, endpoint: UInt32 = 1, length: Int = 128) -> [UInt8] {
    submit(sequence, endpoint: endpoint, isIn: true, length: length)
  }

  static func write(_ sequence: UInt32, endpoint: UInt32 = 1, _ data: [UInt8]) -> [UInt8] {
    submit(sequence, endpoint: endpoint, isIn: false, length: data.count, data: data)
  }

  static func unlink(_ sequence: UInt32, _ target: UInt32) -> [UInt8] {
    be(2) + be(sequence) + be(deviceID) + be(0) + be(0) + be(target) + [UInt8](repeating: 0, count: 24)
  }

  /// RET_SUBMIT.
  static func done(_ sequence: UInt32, status: Int32 = 0, actual: Int, data: [UInt8] = []) -> [UInt8] {
    be(3) + be(sequence) + be(0) + be(0) + be(0) + be(UInt32(bitPattern: status)) + be(UInt32(actual))
      + [UInt8](repeating: 0, count: 20) + data
  }

  static func stalled(_ sequence: UInt32) -> [UInt8] { done(sequence, status: -32, actual: 0) }

  /// RET_UNLINK.
  static func unlinked(_ sequence: UInt32, status: Int32) -> [UInt8] {
    be(4) + be(sequence) + be(0) + be(0) + be(0) + be(UInt32(bitPattern: status))
      + [UInt8](repeating: 0, count: 24)
  }

  private static func setup(
    _ type: UInt8, _ request: UInt8, _ value: UInt16, _ index: UInt16, _ length: UInt16
  ) -> [UInt8] {
    [type, request] + [value, index, length].flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
  }
}

extension USBDevice {
  /// What the device does with these bytes of the host.
  mutating func actions(after bytes: [UInt8]) -> [Action] {
    receive(bytes)
    return pendingActions()
  }

  mutating func pendingActions() -> [Action] {
    var actions: [Action] = []
    while let action = nextAction() { actions.append(action) }
    return actions
  }

  static func make(_ personality: USBPersonality = .jtag) -> USBDevice {
    USBDevice(USBIdentity(personality, serial: "24:6F:28:AA:BB:CC"))
  }

  /// After SET_CONFIGURATION, with one read pending.
  static func makeOpen(_ personality: USBPersonality = .jtag) -> USBDevice {
    var device = make(personality)
    _ = device.actions(after: USBHost.set(900, 0x00, 0x09, 1) + USBHost.read(901))
    return device
  }
}
