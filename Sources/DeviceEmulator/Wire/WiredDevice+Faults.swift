package import NotibotProtocol

/// Faults between the device and its line.
extension WiredDevice {
  /// A host opened or closed the port, as far as that is known. A board that restarts when its port
  /// is opened does so.
  package mutating func noticeHost(isPresent: Bool, now: Instant) {
    clock = now
    if isPresent {
      if device.profile.resetsOnOpen { restart(.powerOn) }
    } else {
      faults?.endSession()
      // A port without modem lines: nothing else ends a loader.
      if device.isLoading, device.loaderEntry == .sync { restart(.externalPin) }
    }
  }

  /// Whether changes of the display are kept for `drainDisplayChanges`.
  package var recordsDisplay: Bool {
    get { device.recordsDisplay }
    set { device.recordsDisplay = newValue }
  }

  /// The changes of the display since the last call.
  package mutating func drainDisplayChanges() -> [DisplayChange] {
    device.drainDisplayChanges()
  }

  /// The state and the counters of the device and its line.
  package var statistics: DeviceStatistics {
    var statistics = device.statistics
    statistics.cutBytes = cutBytes
    if let faults {
      statistics.faults = faults.counts.byName
      statistics.faultSpec = faults.spec.description
    }
    return statistics
  }

  /// The faults of the line, with the seed in use.
  package var faultSpec: FaultSpec { faults?.spec ?? .off }

  /// Faults so far, since `setFaults`.
  package var faultCounts: FaultCounts { faults?.counts ?? FaultCounts() }

  // MARK: Towards the device

  /// Takes bytes that reached the device's end of the line.
  mutating func deliver(_ bytes: [UInt8]) {
    guard faults != nil else {
      device.receive(bytes, now: clock)
      return
    }
    faults?.send(bytes, .toDevice)
    drainFaults()
  }

  /// Passes on the bytes towards the device that are left by the faults.
  mutating func drainFaults() {
    while let output = faults?.next(.toDevice, now: clock) {
      switch output {
      case .bytes(let bytes): device.receive(bytes, now: clock)
      case .reboot: restart(.brownout)
      case .unplug: pullPlug(for: (faults?.spec ?? .off).unplugTime)
      }
    }
  }

  // MARK: From the device

  /// The next output of the device, with its faults.
  mutating func nextDeparture() -> [UInt8]? {
    guard faults != nil else { return nextDeviceOutput() }
    while isPresent {
      while let output = faults?.next(.toHost, now: clock) {
        switch output {
        case .bytes(let bytes): return bytes
        case .reboot: restart(.brownout)
        case .unplug: pullPlug(for: (faults?.spec ?? .off).unplugTime)
        }
      }
      guard isPresent, faults?.queuedBytes(.toHost) ?? 0 < Self.transmitBufferBytes,
        let bytes = nextDeviceOutput()
      else { return nil }
      faults?.send(bytes, .toHost)
    }
    return nil
  }

  /// The next bytes of the device itself, which may end with it.
  private mutating func nextDeviceOutput() -> [UInt8]? {
    let bytes = device.nextTransmit()
    followDevice()
    if device.hasLostPlug {
      device.hasLostPlug = false
      pullPlug(for: (faults?.spec ?? .off).unplugTime)
    }
    return isPresent ? bytes : nil
  }

  /// Whether bytes have waited for the host for longer than the timeout of the device's driver.
  var hasHostStoppedReading: Bool {
    guard let patience = wire.model.writeTimeout, let oldest = wire.oldestArrival(.toHost) else {
      return false
    }
    return clock - oldest > patience
  }

  /// The driver gives up a write: the content of the first packet stays, everything else is lost.
  mutating func cutShort(_ bytes: [UInt8]) {
    cutBytes += UInt64(bytes.count + wire.keepFirstChunk(.toHost))
    owesZero = true
  }

  // MARK: The line as a whole

  private mutating func restart(_ reason: ResetReason) {
    _ = device.perform(.reboot(reason), now: clock)
    followDevice()
  }

  private mutating func pullPlug(for time: Duration) {
    plug = .pulled(until: clock + time)
    cutLine()
  }

  /// Applies the effects of a restart of the device, or of its end, to the line.
  mutating func followDevice() {
    guard device.isRestarting != isRestarting else { return }
    isRestarting = device.isRestarting
    guard isRestarting else {
      if plug == .absentUntilBoot { plug = .present }
      return
    }
    faults?.discard(.toDevice)
    faults?.discard(.toHost)
    faults?.endSession()
    guard device.profile.vanishesAtReset, plug == .present else { return }
    plug = .absentUntilBoot
    cutLine()
  }

  private mutating func cutLine() {
    for direction in PacedWire.Direction.allCases {
      faults?.discard(direction)
      wire.discard(direction, now: clock)
    }
    faults?.endSession()
    owesZero = false
  }
}
