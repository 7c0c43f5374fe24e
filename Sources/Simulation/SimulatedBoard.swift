import DeviceEmulator
import NotibotProtocol

/// A board, and the path that it is plugged in at.
struct SimulatedBoard {
  var wired: WiredDevice
  /// nil while its plug is pulled.
  var path: String?
  /// Whether it is powered; otherwise the display is dark.
  var hasPower = true
  /// Whether the port was there at the world's last check.
  var wasThere = false

  /// Whether there is a port to be opened.
  var isThere: Bool { path != nil && wired.isPresent }

  /// Everything on the display, or that would be on it if it were powered.
  var items: [DisplayedNotification] {
    wired.device.store.items.map { DisplayedNotification(key: $0.identity?.key, json: $0.json) }
  }
}
