import FirmwareImages
package import NotibotProtocol

/// Actions of users and of other writers on the device, and queries.
extension EmulatedDevice {
  static let firmwareName = "notibot"
  static let firmwareVersion = "1.0.0"
  /// The maximum number of notifications that `list` returns.
  package static let listLimit = 100

  /// The newest notifications, at most `listLimit`, oldest first.
  var newest: [StoredNotification] { Array(attributes.store.items.suffix(Self.listLimit)) }

  /// Performs a command. While the device restarts, everything but queries is refused.
  package mutating func perform(_ command: DeviceCommand, now: Instant) -> DeviceReply {
    clock = now
    switch command {
    case .statistics: return .statistics(statistics)
    case .list(from: nil): return .list(newest)
    case .list(let from?): return .list(attributes.store.items(from: from, limit: Self.listLimit))
    case .unplug, .plug, .faults: return .refused("a device has no hold of its line")
    case .loaderFaults(let faults):
      guard loader != nil else { return .refused("this emulator has no flash; start it with --flash-file") }
      loader?.setFaults(faults)
      return .done
    case .reboot, .dismiss, .action, .log, .fill, .clear, .stall, .resume, .close, .mode: break
    }
    switch (state, command) {
    case (.running, _): break
    case (.restarting, _): return .refused("the device is restarting")
    case (.held, _): return .refused("the device is held in reset by the lines of its port")
    // The user presses the button.
    case (.downloading, .reboot): break
    case (.downloading, _): return .refused("the device waits for a download, and no application runs")
    }
    let reply = change(by: command)
    switch state {
    case .restarting, .held, .downloading: break
    case .running: handleRequests()
    }
    return reply
  }

  private mutating func change(by command: DeviceCommand) -> DeviceReply {
    switch command {
    case .reboot(let reason): restart(reason)
    case .dismiss(let item): return dismiss(item)
    case .action(let item, let act): return choose(act, of: item)
    case .log(let text): log(BootText.line(text, name: Self.firmwareName, uptimeMs: uptimeMs))
    case .fill(let count): attributes.changeStore { $0.setOtherWritersCount(count) }
    case .clear: attributes.changeStore { $0.removeAll() }
    case .stall: application = .stalled
    case .resume: application = .handling
    case .close: link.close(now: clock)
    case .mode(let mode):
      attributes.mode = mode
      link.identity = profile.identity(in: mode, booted: bootOutcome?.application)
    case .statistics, .list, .unplug, .plug, .faults, .loaderFaults: break
    }
    return .done
  }

  private mutating func dismiss(_ item: UInt32) -> DeviceReply {
    guard let dismissed = attributes.store.notification(Int(item)),
      attributes.changeStore({ $0.dismiss(item: Int(item)) })
    else { return .refused("there is no notification \(item)") }
    // The store reports notifications with an identity that are gone (NTF-26).
    if dismissed.identity == nil {
      attributes.notify(DeviceEvent.dismissed(item: item).encoded())
    }
    return .done
  }

  private mutating func choose(_ act: UInt8, of item: UInt32) -> DeviceReply {
    guard let chosen = attributes.store.notification(Int(item)) else {
      return .refused("there is no notification \(item)")
    }
    guard let identity = chosen.identity else {
      attributes.notify(DeviceEvent.action(item: item, act: UInt32(act)).encoded())
      return .done
    }
    let reportsRevision = profile.identity(in: attributes.mode).features.contains(.keptActions)
    let event = DeviceEvent.actionOf(
      identity.key, item: item, act: UInt32(act), revision: reportsRevision ? identity.revision : nil)
    attributes.press(act, of: identity, event: event.encoded())
    return .done
  }

  // MARK: Queries

  /// The stored notifications.
  package var store: NotificationStore { attributes.store }

  /// Whether changes of the display are kept for `drainDisplayChanges`.
  package var recordsDisplay: Bool {
    get { attributes.store.display != nil }
    set {
      guard newValue != recordsDisplay else { return }
      attributes.store.display = newValue ? DisplayLog() : nil
    }
  }

  /// The changes of the display since the last call, in order; none unless `recordsDisplay`. A
  /// restart is one of the changes. At most `DisplayLog.limit` are kept.
  package mutating func drainDisplayChanges() -> [DisplayChange] {
    attributes.store.drainDisplayChanges()
  }

  /// Milliseconds since boot.
  var uptimeMs: Int64 { max(0, (clock - link.boot.time).wholeNanoseconds / 1_000_000) }

  /// The state and the counters of the device.
  package var statistics: DeviceStatistics {
    var statistics = DeviceStatistics()
    statistics.profile = profile.name
    statistics.mode = attributes.mode.rawValue
    statistics.bootID = link.boot.id
    statistics.bootCount = link.boot.count
    statistics.chip = chip.rawValue
    statistics.lineResets = lineResets
    statistics.uptimeMs = uptimeMs
    statistics.session = link.sessionID
    statistics.isSuspect = link.isSuspect
    statistics.isStalled = application == .stalled
    statistics.count = attributes.store.count
    statistics.storedCount = attributes.store.storedCount
    statistics.otherWritersCount = attributes.store.otherWritersCount
    statistics.acceptedCount = attributes.store.acceptedCount
    statistics.sourceCount = attributes.store.writers.records.count
    statistics.goneCount = attributes.store.gone.notices.count
    statistics.pressCount = attributes.store.presses.presses.count
    statistics.link = link.counters
    statistics.attributes = attributes.counters
    statistics.connections = connectionCounters
    statistics.connectionCount = connections.count
    statistics.framesReceived = decoder.counters.frames
    statistics.crcErrors = decoder.counters.crcErrors
    statistics.malformedCandidates = decoder.counters.malformed
    statistics.textBytesReceived = decoder.counters.textBytes
    statistics.echoes = decoder.counters.echoes
    statistics.overruns = decoder.counters.overruns
    statistics.deafBytes = deafBytes
    statistics.bytesReceived = bytesReceived
    statistics.bytesSent = bytesSent
    statistics.consoleDroppedBytes = consoleDroppedBytes
    statistics.loader = loader.map { LoaderStatistics($0, booted: bootOutcome?.application) }
    return statistics
  }
}

/// The console.
extension EmulatedDevice {
  mutating func printBootText(of boot: BootRecord) {
    startROM(after: boot.reason)
    printApplicationText(of: boot)
  }

  mutating func printApplicationText(of boot: BootRecord) {
    chatterDeadline = profile.console.logInterval.map { boot.time + $0 }
    guard profile.console.hasBootText else { return }
    log(BootText.application(bootOutcome?.application, of: loader, bootCount: boot.count))
  }

  /// Queues text for the line. Zeros are removed: on the wire they belong to frames (FRM-6).
  mutating func log(_ text: String) {
    let bytes = text.utf8.lazy.filter { $0 != 0 }
    let room = Self.consoleLimitBytes - console.count
    var taken = 0
    for byte in bytes {
      if taken < room {
        console.append(byte)
      } else {
        consoleDroppedBytes += 1
      }
      taken += 1
    }
  }

  /// The queued text for the line, which is then removed: in frames if the session wants that,
  /// otherwise raw.
  mutating func drainConsole() -> [UInt8] {
    defer { console = [] }
    guard link.framesLog, let session = link.sessionID else { return console }
    let header = FrameHeader(type: .udata, direction: .fromDevice, channel: .log, session: session)
    var wire: [UInt8] = []
    var rest = console[...]
    while !rest.isEmpty {
      Frame.encode(header, payload: Array(rest.prefix(WireLimits.payloadLimitBytes)), into: &wire)
      rest = rest.dropFirst(WireLimits.payloadLimitBytes)
    }
    return wire
  }
}

extension DeviceProfile {
  /// The identity of a device with this profile.
  var identity: LinkIdentity { identity(in: mode) }

  /// The identity in another mode, of the application that the chip has booted. A device that
  /// cannot refuse has no identities. Source: PROTOCOL.md NTF-9.
  func identity(in mode: DeviceMode, booted: BootedApplication? = nil) -> LinkIdentity {
    let features: Features =
      switch mode {
      case .strict: features
      case .firmware: features.subtracting([.optionalKeys, .sync, .keptActions])
      }
    return LinkIdentity(
      limits: limits, outOfOrder: outOfOrder, features: features,
      deviceID: deviceID,
      firmwareName: EmulatedDevice.firmwareName,
      firmwareVersion: booted?.descriptor?.version ?? EmulatedDevice.firmwareVersion,
      buildHash: booted?.descriptor.map { Array($0.elfSHA256.prefix(4)) } ?? [0xDE, 0xAD, 0xBE, 0xEF],
      profileHash: NotibotProfile.profileHash(of: NotibotProfile.declarations(from: firstHandle)),
      capacity: capacity)
  }

  /// The attributes of a session.
  var lineModel: ServerModel {
    ServerModel(table: AttributeTable(first: firstHandle, name: bluetoothName), traits: .own)
  }

  /// The attributes of a connection.
  var connectionModel: ServerModel {
    guard let stack else { return lineModel }
    return ServerModel(
      table: AttributeTable(first: stack.firstHandle, name: bluetoothName), traits: stack.traits)
  }

  /// Where GAP and GATT can be on a connection that does not have them; nil if it has.
  package var handleBehindService: UInt16? { connectionModel.table.handleBehind }

  var emptyStore: NotificationStore {
    NotificationStore(capacity: Int(capacity), policy: policy, writersLimit: writersLimit)
  }
}
