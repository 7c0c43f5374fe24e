import SerialLink

/// The settings of a USB serial device that its requests read and write.
struct USBLineSettings: Equatable, Sendable {
  /// u32 rate, stop bits, parity, data bits. Source: CDC PSTN 1.20, 6.3.11.
  var coding: [UInt8] = [0x80, 0x25, 0, 0, 0, 0, 8]
  var lines = ModemLines(dtr: false, rts: false)
  var isBreaking = false
  /// CP2102: data bits, parity, stop bits.
  var lineControl: [UInt8] = [0, 8]
  /// CP2102: 16 bytes.
  var flow = [UInt8](repeating: 0, count: 16)
  var latencyMs: UInt8 = 16
  var modemState: UInt8 = 0xB0
}

/// The reaction of a device to a control request that it accepts.
struct USBControlEffect: Equatable, Sendable {
  /// The answer of a request to the host.
  var data: [UInt8] = []
  var actions: [USBDevice.Action] = []
  /// The driver closes the port.
  var closes = false
  /// The bytes buffered for the host are discarded.
  var discards = false

  init(data: [UInt8] = [], actions: [USBDevice.Action] = [], closes: Bool = false, discards: Bool = false) {
    self.data = data
    self.actions = actions
    self.closes = closes
    self.discards = discards
  }

  static func perform(_ commands: LineCommand...) -> USBControlEffect {
    USBControlEffect(actions: commands.map { .perform($0) })
  }
}

extension USBPersonality {
  /// The reaction to a request that is not one of USB itself; nil to refuse it.
  func answer(to setup: USBSetup, data: [UInt8], _ line: inout USBLineSettings) -> USBControlEffect? {
    switch self {
    case .jtag: cdc(setup, data, &line)
    case .cp2102: cp210x(setup, data, &line)
    case .ftdi: ftdi(setup, data, &line)
    }
  }

  /// Packets for a read: as many bytes as fit, each packet of an FTDI chip after two of status.
  func packets(
    of bytes: ArraySlice<UInt8>, limitBytes: Int, modemState: UInt8
  ) -> (bytes: [UInt8], takenBytes: Int) {
    guard self == .ftdi else {
      let taken = bytes.prefix(limitBytes)
      return (Array(taken), taken.count)
    }
    var packets: [UInt8] = []
    var rest = bytes
    while !rest.isEmpty, limitBytes - packets.count > 2 {
      let content = rest.prefix(min(62, limitBytes - packets.count - 2))
      packets += [modemState | 1, 0x60] + content
      rest = rest.dropFirst(content.count)
    }
    return (packets, bytes.count - rest.count)
  }

  private func drive(_ new: ModemLines, _ line: inout USBLineSettings) -> USBControlEffect {
    line.lines = new
    return .perform(.lines(new))
  }

  /// DTR and RTS in the low byte, in the high byte which of them to change.
  private func driveMasked(_ value: UInt16, _ line: inout USBLineSettings) -> USBControlEffect {
    drive(
      ModemLines(
        dtr: value & 0x100 == 0 ? line.lines.dtr : value & 1 != 0,
        rts: value & 0x200 == 0 ? line.lines.rts : value & 2 != 0), &line)
  }

  private func setBreak(_ isOn: Bool, _ line: inout USBLineSettings) -> USBControlEffect {
    guard isOn != line.isBreaking else { return USBControlEffect() }
    line.isBreaking = isOn
    return .perform(.breakState(isOn: isOn))
  }

  private func setRate(_ rate: UInt32) -> USBControlEffect {
    rate == 0 ? USBControlEffect() : .perform(.rate(rate))
  }

  private func littleEndian(_ bytes: some Collection<UInt8>) -> UInt32 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }

  // MARK: CDC ACM. Source: CDC PSTN 1.20, 6.3

  private func cdc(_ setup: USBSetup, _ data: [UInt8], _ line: inout USBLineSettings) -> USBControlEffect? {
    switch (setup.requestType, setup.request) {
    case (0x21, 0x20):
      guard data.count == line.coding.count else { return nil }
      line.coding = data
      return setRate(littleEndian(data.prefix(4)))
    case (0xA1, 0x21): return USBControlEffect(data: line.coding)
    case (0x21, 0x22): return drive(ModemLines(dtr: setup.value & 1 != 0, rts: setup.value & 2 != 0), &line)
    case (0x21, 0x23): return setBreak(setup.value != 0, &line)
    case _: return nil
    }
  }

  // MARK: CP2102. Source: Silicon Labs AN571

  private func cp210x(_ setup: USBSetup, _ data: [UInt8], _ line: inout USBLineSettings) -> USBControlEffect?
  {
    switch (setup.requestType, setup.request) {
    case (0x41, 0x00): return USBControlEffect(closes: setup.value == 0)
    case (0x41, 0x1E):
      guard data.count == 4 else { return nil }
      line.coding = data + line.coding.dropFirst(4)
      return setRate(littleEndian(data))
    case (0xC1, 0x1D): return USBControlEffect(data: Array(line.coding.prefix(4)))
    case (0x41, 0x03):
      line.lineControl = [UInt8(setup.value & 0xFF), UInt8(setup.value >> 8)]
      return USBControlEffect()
    case (0xC1, 0x04): return USBControlEffect(data: line.lineControl)
    case (0x41, 0x05): return setBreak(setup.value != 0, &line)
    case (0x41, 0x07): return driveMasked(setup.value, &line)
    case (0xC1, 0x08):
      return USBControlEffect(data: [line.modemState | (line.lines.dtr ? 1 : 0) | (line.lines.rts ? 2 : 0)])
    // Errors, hold reasons, queues, flags: all 0, nothing is queued.
    case (0xC1, 0x10): return USBControlEffect(data: [UInt8](repeating: 0, count: 19))
    case (0x41, 0x12): return purge(transmit: setup.value & 5 != 0, receive: setup.value & 10 != 0)
    case (0x41, 0x13):
      guard data.count == line.flow.count else { return nil }
      line.flow = data
      return USBControlEffect()
    case (0xC1, 0x14): return USBControlEffect(data: line.flow)
    case (0x41, 0x19): return USBControlEffect()
    // The part number.
    case (0xC0, 0xFF) where setup.value == 0x370B: return USBControlEffect(data: [2])
    case _: return nil
    }
  }

  private func purge(transmit: Bool, receive: Bool) -> USBControlEffect {
    var effect = USBControlEffect(discards: receive)
    if receive { effect.actions.append(.perform(.purgeInput)) }
    if transmit { effect.actions.append(.perform(.purgeOutput)) }
    return effect
  }

  // MARK: FT232R. Sources: Linux, ftdi_sio.h; FTDI AN232B-05

  private func ftdi(_ setup: USBSetup, _ data: [UInt8], _ line: inout USBLineSettings) -> USBControlEffect? {
    switch (setup.requestType, setup.request) {
    case (0x40, 0x00): return purge(transmit: setup.value != 1, receive: setup.value != 2)
    case (0x40, 0x01): return driveMasked(setup.value, &line)
    case (0x40, 0x03): return setRate(Self.ftdiRate(value: setup.value, index: setup.index))
    case (0x40, 0x04): return setBreak(setup.value & 0x4000 != 0, &line)
    // Flow control, event and error characters.
    case (0x40, 0x02), (0x40, 0x06), (0x40, 0x07): return USBControlEffect()
    case (0xC0, 0x05): return USBControlEffect(data: [line.modemState | 1, 0x60])
    case (0x40, 0x09):
      line.latencyMs = UInt8(clamping: max(1, setup.value))
      return USBControlEffect(actions: [.setLatency(.milliseconds(Int64(line.latencyMs)))])
    case (0xC0, 0x0A): return USBControlEffect(data: [line.latencyMs])
    // The EEPROM is empty.
    case (0xC0, 0x90): return USBControlEffect(data: [0, 0])
    case _: return nil
    }
  }

  /// The rate of a divisor of 3 MHz in eighths, in bits per second.
  static func ftdiRate(value: UInt16, index: UInt16) -> UInt32 {
    let eighths: [UInt32] = [0, 4, 2, 1, 3, 5, 6, 7]
    let fraction = eighths[Int(value >> 14 | (index & 1) << 2)]
    switch UInt32(value & 0x3FFF) << 3 + fraction {
    case 0: return 3_000_000
    case 8: return 2_000_000
    case let divisor: return 24_000_000 / divisor
    }
  }
}
