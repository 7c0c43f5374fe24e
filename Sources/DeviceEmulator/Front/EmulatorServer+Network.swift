package import NIOCore
package import SerialLink

/// The network port, on the same event loop.
extension EmulatorServer: NetworkDevice {
  /// Listens for hosts. Throws `PortError` if the address is not available.
  func listen(at address: NetworkAddress) async throws(PortError) {
    listener = try await NetworkListener.open(address, for: self, on: loop)
  }

  /// The faults of the line, with the seed in use.
  package var faultSpec: FaultSpec { wired.faultSpec }

  /// The rate of the line, in bits per second; nil on an unpaced line.
  var bitsPerSecond: UInt32? { wired.wire.bitsPerSecond }

  /// Bytes queued in this process for a host that does not read.
  var waitingBytes: Int { unwrittenBytes }

  /// The channel to the host that has the port open, or to the PTY.
  var hostChannel: (any NIOCore.Channel)? {
    switch line {
    case .unplugged, .withdrawn, .plugging, .stopped: nil
    case .plugged(let channel, _): channel
    case .served(let host): host
    }
  }

  /// Whether bytes of the host are read; its port is full otherwise.
  func setReading(_ isReading: Bool) {
    guard usb == nil else { return setRoom(isReading) }
    guard let options = hostChannel?.syncOptions,
      (try? options.getOption(.autoRead)) != isReading
    else { return }
    try? options.setOption(.autoRead, value: isReading)
  }

  /// The modem lines that the board drives: a powered USB adapter asserts DSR and CD; CTS means
  /// that the chip is not held in reset, so that a host can observe it. Bits as in
  /// NOTIFY-MODEMSTATE.
  var modemState: UInt8 {
    switch wired.device.chip {
    case .running, .restarting, .download: 0xB0
    case .held: 0xA0
    }
  }

  /// A client has connected.
  package func admit(
    _ channel: any NIOCore.Channel, over service: NetworkAddress.Service
  ) -> NetworkAdmission {
    switch line {
    case .unplugged, .withdrawn, .plugging: return .refused("The device is unplugged")
    case .plugged, .stopped: return .refused("The port is not served here")
    case .served(host: .some): return .taken
    case .served(host: nil): line = .served(host: channel)
    }
    unwrittenBytes = 0
    wired.apply(.lines(ModemLines(dtr: true, rts: true)), now: Self.now)
    switch service {
    case .bytes: return .accepted(nil)
    case .rfc2217:
      return .accepted(
        RFC2217Server(bitsPerSecond: wired.wire.bitsPerSecond ?? 115_200, modemState: modemState))
    }
  }

  /// The host changes the line. Returns the modem lines that the device then drives.
  package func perform(_ command: LineCommand) -> UInt8 {
    drainUnhandled()
    wired.apply(command, now: Self.now)
    drain()
    return modemState
  }

  /// The host has disconnected, and its driver released both lines.
  package func left(_ channel: any NIOCore.Channel) {
    drainUnhandled()
    guard hostChannel === channel else { return }
    // The kernel of this computer does not come back for a device that it has detached.
    line = usb?.controller == nil ? .served(host: nil) : .unplugged
    noticed(.detached)
    wired.apply(.lines(ModemLines(dtr: false, rts: false)), now: Self.now)
    drain()
  }
}
