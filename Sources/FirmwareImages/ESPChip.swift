/// The chips whose images are known.
package struct ESPChip: Hashable, Sendable {
  /// The name that esptool uses, such as `esp32c3`.
  package let name: String
  /// `chip_id` of an image header, and of GET_SECURITY_INFO.
  package let id: UInt16
  /// Where the ROM looks for the first image, in bytes from the start of the flash.
  package let bootloaderOffset: UInt32

  /// All, by `id`. Source: esptool's targets.
  package static let all: [ESPChip] = [
    esp32,
    ESPChip(name: "esp32s2", id: 2, bootloaderOffset: 0x1000),
    esp32c3,
    esp32s3,
    ESPChip(name: "esp32c2", id: 12, bootloaderOffset: 0),
    ESPChip(name: "esp32c6", id: 13, bootloaderOffset: 0),
    ESPChip(name: "esp32h2", id: 16, bootloaderOffset: 0),
    ESPChip(name: "esp32p4", id: 18, bootloaderOffset: 0x2000),
    ESPChip(name: "esp32c61", id: 20, bootloaderOffset: 0),
    ESPChip(name: "esp32c5", id: 23, bootloaderOffset: 0x2000),
    ESPChip(name: "esp32h21", id: 25, bootloaderOffset: 0),
    ESPChip(name: "esp32h4", id: 28, bootloaderOffset: 0x2000),
    ESPChip(name: "esp32s31", id: 32, bootloaderOffset: 0x2000),
  ]

  package static let esp32 = ESPChip(name: "esp32", id: 0, bootloaderOffset: 0x1000)
  package static let esp32c3 = ESPChip(name: "esp32c3", id: 5, bootloaderOffset: 0)
  package static let esp32s3 = ESPChip(name: "esp32s3", id: 9, bootloaderOffset: 0)

  /// The chip with this name; `nil` if there is none. Upper case and dashes are ignored, as in
  /// `ESP32-C3`.
  package static func named(_ name: String) -> ESPChip? {
    let plain = name.lowercased().filter { $0 != "-" }
    return all.first { $0.name == plain }
  }

  /// The chip with this `chip_id`; `nil` if there is none.
  package static func with(id: UInt16) -> ESPChip? { all.first { $0.id == id } }
}
