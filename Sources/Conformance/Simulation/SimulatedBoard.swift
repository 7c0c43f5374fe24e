import DeviceEmulator
import NotibotProtocol

/// A board, and the path that it is plugged in at.
struct SimulatedBoard {
  var wired: WiredDevice
  /// nil while its plug is out.
  var path: String?
  /// Whether it has power; without it the display is dark.
  var hasPower = true
  /// Whether the world knew the port to be there when it looked last.
  var wasThere = false

  /// Whether there is a port to be opened.
  var isThere: Bool { path != nil && wired.isPresent }

  /// All that is on the display, or would be if it had power.
  var items: [DisplayedNotification] {
    wired.device.store.items.map { DisplayedNotification(key: $0.identity?.key, json: $0.json) }
  }
}
