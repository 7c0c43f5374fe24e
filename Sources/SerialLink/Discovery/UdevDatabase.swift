import CLibudev

/// The properties that udev stored for a device while it applied its rules. Empty if udev does not
/// run.
package enum UdevDatabase {
  /// Properties read for one device, at most; udev sets about fifty.
  private static let propertiesLimit = 512

  /// The properties of the serial port `name`, such as `ttyUSB0`: `ID_PATH`, `ID_MM_DEVICE_IGNORE`
  /// and others.
  package static func properties(ofPort name: String) -> [String: String] {
    guard let context = udev_new() else { return [:] }
    defer { udev_unref(context) }
    guard let device = udev_device_new_from_subsystem_sysname(context, "tty", name) else { return [:] }
    defer { udev_device_unref(device) }
    var properties: [String: String] = [:]
    var entry = udev_device_get_properties_list_entry(device)
    while let current = entry, properties.count < propertiesLimit {
      if let key = udev_list_entry_get_name(current), let value = udev_list_entry_get_value(current) {
        properties[String(cString: key)] = String(cString: value)
      }
      entry = udev_list_entry_get_next(current)
    }
    return properties
  }
}
