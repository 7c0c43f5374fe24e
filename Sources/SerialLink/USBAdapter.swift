/// What stands behind a USB number that is known to sit on ESP32 boards.
///
/// A table of our own, because the usb.ids of distributions lack Espressif's vendor number and newer bridges.
package struct USBAdapter: Hashable, Sendable {
  /// For a list: chip or board family.
  package let name: String

  /// The adapter with this number, or `nil`: a port behind an unknown number is never chosen by itself.
  package static func known(_ id: USBID) -> USBAdapter? {
    if id.vendor == espressif { return espressifName(id.product).map(USBAdapter.init(name:)) }
    return bridges[id].map(USBAdapter.init(name:))
  }

  private static let espressif: UInt16 = 0x303A

  private static func espressifName(_ product: UInt16) -> String? {
    switch product {
    case 0x0002: "ESP32-S2 ROM USB"
    case 0x0009: "ESP32-S3 ROM USB"
    case 0x0012: "ESP32-P4 ROM USB"
    case 0x1001: "ESP32 USB-Serial/JTAG"
    case 0x1002: "Espressif USB bridge"
    case 0x4001: "ESP32 TinyUSB CDC"
    case 0x7000...0x7013: "Espressif development board"
    default: nil
    }
  }

  private static let bridges: [USBID: String] = [
    USBID(vendor: 0x10C4, product: 0xEA60): "Silicon Labs CP210x",
    USBID(vendor: 0x10C4, product: 0xEA64): "Silicon Labs CP2102C",
    USBID(vendor: 0x10C4, product: 0xEA70): "Silicon Labs CP2105 dual",
    USBID(vendor: 0x10C4, product: 0xEA71): "Silicon Labs CP2108 quad",
    USBID(vendor: 0x1A86, product: 0x5523): "WCH CH341",
    USBID(vendor: 0x1A86, product: 0x7522): "WCH CH340",
    USBID(vendor: 0x1A86, product: 0x7523): "WCH CH340",
    USBID(vendor: 0x1A86, product: 0x55D3): "WCH CH343",
    USBID(vendor: 0x1A86, product: 0x55D4): "WCH CH9102",
    USBID(vendor: 0x0403, product: 0x6001): "FTDI FT232R",
    USBID(vendor: 0x0403, product: 0x6010): "FTDI FT2232",
    USBID(vendor: 0x0403, product: 0x6011): "FTDI FT4232",
    USBID(vendor: 0x0403, product: 0x6014): "FTDI FT232H",
    USBID(vendor: 0x0403, product: 0x6015): "FTDI FT230X",
    USBID(vendor: 0x067B, product: 0x2303): "Prolific PL2303",
    USBID(vendor: 0x067B, product: 0x23A3): "Prolific PL2303",
  ]
}
