package import NotibotProtocol

/// What can be done to a device other than over its line: buttons, power, other writers.
package enum DeviceCommand: Equatable, Sendable {
  /// Restarts; the store is empty afterwards and the boot id another.
  case reboot(ResetReason)
  /// Somebody dismisses a notification at the display. Source: PROTOCOL.md NTF-11.
  case dismiss(item: Int)
  /// Somebody chooses an action of a notification. `act` 0...255.
  case action(item: Int, act: Int)
  /// The application logs a line of text.
  case log(String)
  /// Other writers have this many notifications in the store; only the count shows them. 0...10 000 000.
  case fill(Int)
  /// Somebody dismisses everything at once; of those without an identity only the count tells.
  case clear
  /// The application hangs: requests wait, the link still answers.
  case stall
  /// The application goes on.
  case resume
  /// The device closes its session.
  case close
  /// Whether the device can refuse a write from now on; its features follow with the next session.
  case mode(DeviceMode)
  case statistics
  /// The notifications that are stored, at most 100 of them, oldest first: those from item number `from` on, or the newest.
  case list(from: Int?)
}

/// What came of a command.
package enum DeviceReply: Equatable, Sendable {
  case done
  /// Nothing was done, for this reason.
  case refused(String)
  case statistics(DeviceStatistics)
  case list([StoredNotification])
}

/// What a device wants done.
package enum DeviceAction: Equatable, Sendable {
  /// Put these bytes on the line, whole and at once: frames and console text, no frame cut.
  case transmit([UInt8])
}

/// What a device has done and how it is. Counters run from the start of the emulator, through restarts.
package struct DeviceStatistics: Equatable, Sendable, Codable {
  package var profile = ""
  package var mode = ""
  package var bootID: UInt32 = 0
  package var bootCount: UInt32 = 0
  /// What the chip does: running, restarting, held (EN is low) or download (the ROM waits for firmware).
  package var chip = ""
  /// Resets by DTR and RTS.
  package var lineResets: UInt64 = 0
  package var uptimeMs: Int64 = 0
  /// The live session's id; nil when there is none.
  package var session: UInt16?
  /// Whether the live session has heard nothing for 3 s.
  package var isSuspect = false
  package var isStalled = false
  /// The value of Notification Count.
  package var count: UInt16 = 0
  /// What the count would be without its limit.
  package var storedCount = 0
  /// Notifications accepted since boot.
  package var acceptedCount = 0
  /// Writers of notifications with an identity that are known. Source: PROTOCOL.md NTF-22.
  package var sourceCount = 0
  /// Notifications that are gone and not settled by their writers. Source: PROTOCOL.md NTF-26.
  package var goneCount = 0
  package var link = LinkCounters()
  package var attributes = ATTCounters()
  /// Bearers beside the line.
  package var connections = ConnectionCounters()
  /// How many of them there are now.
  package var connectionCount = 0
  package var framesReceived: UInt64 = 0
  package var crcErrors: UInt64 = 0
  package var malformedCandidates: UInt64 = 0
  package var textBytesReceived: UInt64 = 0
  package var echoes: UInt64 = 0
  package var overruns: UInt64 = 0
  /// Bytes that came while the device restarted.
  package var deafBytes: UInt64 = 0
  package var bytesReceived: UInt64 = 0
  package var bytesSent: UInt64 = 0
  /// Console text that found the buffer full because the line did not drain.
  package var consoleDroppedBytes: UInt64 = 0
  /// Bytes of writes that were cut short because the host did not read.
  package var cutBytes: UInt64 = 0
  /// How often each fault of the line has happened, by its name; nil on a line without faults.
  package var faults: [String: UInt64]?
  /// The faults in force, with the seed that repeats them.
  package var faultSpec: String?

  package init() {}
}
