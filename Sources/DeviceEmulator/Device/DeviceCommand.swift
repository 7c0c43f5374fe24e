package import NotibotProtocol

/// An action on a device other than over its line: buttons, power, the plug, other writers. The
/// same for the emulator, its control socket, and the cases of the suite on any rig.
package enum DeviceCommand: Equatable, Sendable {
  /// Cuts the line: the port disappears, the device keeps running.
  case unplug
  /// Restores the line: the port is back under the same link.
  case plug
  /// Sets the faults of the line from now on; `.off` removes them.
  case faults(FaultSpec)
  /// Restarts; the store is then empty and the boot id is new.
  case reboot(ResetReason = .software)
  /// The user dismisses the notification with this item number at the display. Source:
  /// PROTOCOL.md NTF-11.
  case dismiss(UInt32)
  /// The user chooses an action of the notification with this item number, 0...255.
  case action(UInt32, UInt8)
  /// The application logs a line of text.
  case log(String)
  /// Other writers have this many notifications in the store; they affect only the count. 0...10
  /// 000 000.
  case fill(Int)
  /// The user dismisses all notifications at once; those without an identity are reported only
  /// through the count.
  case clear
  /// The application hangs: requests are queued, the link still answers.
  case stall
  /// The application continues.
  case resume
  /// The device closes its session.
  case close
  /// Whether the device can refuse a write from now on; its features change with the next session.
  case mode(DeviceMode)
  /// Sets the faults of flashing from now on; `.off` removes them.
  case loaderFaults(LoaderFaults)
  case statistics
  /// Lists the stored notifications, at most 100, oldest first: those from item number `from` on,
  /// or the newest.
  case list(from: Int?)
}

extension DeviceCommand {
  /// Whether it is done to the line of a device, or asks the emulator, so that a refusal says
  /// nothing about the device.
  package var concernsLine: Bool {
    switch self {
    case .unplug, .plug, .faults, .loaderFaults, .statistics, .list: true
    case .reboot, .dismiss, .action, .log, .fill, .clear, .stall, .resume, .close, .mode: false
    }
  }

  /// The notification that it needs; nil if it needs none.
  package var item: UInt32? {
    switch self {
    case .dismiss(let item), .action(let item, _): item
    case .unplug, .plug, .faults, .loaderFaults, .statistics, .list, .reboot, .log, .fill, .clear, .stall,
      .resume, .close, .mode:
      nil
    }
  }
}

/// The result of a command.
package enum DeviceReply: Equatable, Sendable {
  case done
  /// Refused for this reason; nothing was changed.
  case refused(String)
  case statistics(DeviceStatistics)
  case list([StoredNotification])
}

/// The state and the counters of a device. Counters start with the emulator and continue through
/// restarts.
package struct DeviceStatistics: Equatable, Sendable, Codable {
  package var profile = ""
  package var mode = ""
  package var bootID: UInt32 = 0
  package var bootCount: UInt32 = 0
  /// The state of the chip: running, restarting, held (EN is low) or download (the ROM waits for
  /// firmware).
  package var chip = ""
  /// Resets by DTR and RTS.
  package var lineResets: UInt64 = 0
  package var uptimeMs: Int64 = 0
  /// The live session's id; nil if there is none.
  package var session: UInt16?
  /// Whether nothing has been received in the live session for 3 s.
  package var isSuspect = false
  package var isStalled = false
  /// The value of Notification Count.
  package var count: UInt16 = 0
  /// What the count would be without its limit.
  package var storedCount = 0
  /// The part of it that `fill` has set.
  package var otherWritersCount = 0
  /// Notifications accepted since boot.
  package var acceptedCount = 0
  /// Known writers of notifications with an identity. Source: PROTOCOL.md NTF-22.
  package var sourceCount = 0
  /// Notifications that are gone and not settled by their writers. Source: PROTOCOL.md NTF-26.
  package var goneCount = 0
  /// Presses that no host has taken yet. Source: PROTOCOL.md NTF-39.
  package var pressCount = 0
  package var link = LinkCounters()
  package var attributes = ATTCounters()
  /// Bearers other than the line.
  package var connections = ConnectionCounters()
  /// The current number of connections.
  package var connectionCount = 0
  package var framesReceived: UInt64 = 0
  package var crcErrors: UInt64 = 0
  package var malformedCandidates: UInt64 = 0
  package var textBytesReceived: UInt64 = 0
  package var echoes: UInt64 = 0
  package var overruns: UInt64 = 0
  /// Bytes received while the device restarted.
  package var deafBytes: UInt64 = 0
  package var bytesReceived: UInt64 = 0
  package var bytesSent: UInt64 = 0
  /// Console text that was dropped because the line did not drain and the buffer was full.
  package var consoleDroppedBytes: UInt64 = 0
  /// Bytes of writes that were cut short because the host did not read.
  package var cutBytes: UInt64 = 0
  /// The number of each fault of the line, by name; nil on a line without faults.
  package var faults: [String: UInt64]?
  /// The faults in use, with the seed that repeats them.
  package var faultSpec: String?
  /// nil for a board whose flash cannot be written.
  package var loader: LoaderStatistics?

  package init() {}
}
