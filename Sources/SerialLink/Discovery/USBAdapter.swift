/// The hardware behind a USB id that is known from ESP32 boards.
///
/// A table of our own, because the usb.ids of distributions lack Espressif's vendor number and
/// newer bridges. The udev rules are generated from it.
package struct USBAdapter: Hashable, Sendable {
  /// For a list: chip or board family.
  package let name: String
  /// The chip behind it, such as `ESP32-S3`, if the USB id identifies it; that of a bridge never
  /// does.
  package let chip: String?
  /// The kernel module of its serial port.
  package let driver: String

  /// The adapter with this id, or `nil`: a port with an unknown id is never chosen automatically.
  package static func known(_ id: USBID) -> USBAdapter? {
    table.first { $0.vendor == id.vendor && $0.products.contains(id.product) }?.adapter
  }

  /// One line of the table: similar products of one vendor.
  struct Entry {
    let vendor: UInt16
    let products: ClosedRange<UInt16>
    let adapter: USBAdapter

    init(
      _ vendor: UInt16, _ products: ClosedRange<UInt16>, _ name: String, chip: String? = nil, driver: String
    ) {
      self.vendor = vendor
      self.products = products
      adapter = USBAdapter(name: name, chip: chip, driver: driver)
    }

    init(_ vendor: UInt16, _ product: UInt16, _ name: String, chip: String? = nil, driver: String) {
      self.init(vendor, product...product, name, chip: chip, driver: driver)
    }
  }

  static let ftdi: UInt16 = 0x0403

  static let table: [Entry] = [
    Entry(0x303A, 0x0002, "ESP32-S2 ROM USB", chip: "ESP32-S2", driver: "cdc_acm"),
    Entry(0x303A, 0x0009, "ESP32-S3 ROM USB", chip: "ESP32-S3", driver: "cdc_acm"),
    Entry(0x303A, 0x0012, "ESP32-P4 ROM USB", chip: "ESP32-P4", driver: "cdc_acm"),
    Entry(0x303A, 0x1001, "ESP32 USB-Serial/JTAG", driver: "cdc_acm"),
    Entry(0x303A, 0x1002, "Espressif USB bridge", driver: "cdc_acm"),
    Entry(0x303A, 0x4001, "ESP32 TinyUSB CDC", driver: "cdc_acm"),
    Entry(0x303A, 0x7000...0x7013, "Espressif development board", driver: "cdc_acm"),
    Entry(0x10C4, 0xEA60, "Silicon Labs CP210x", driver: "cp210x"),
    Entry(0x10C4, 0xEA64, "Silicon Labs CP2102C", driver: "cp210x"),
    Entry(0x10C4, 0xEA70, "Silicon Labs CP2105 dual", driver: "cp210x"),
    Entry(0x10C4, 0xEA71, "Silicon Labs CP2108 quad", driver: "cp210x"),
    Entry(0x1A86, 0x5523, "WCH CH341", driver: "ch341"),
    Entry(0x1A86, 0x7522, "WCH CH340", driver: "ch341"),
    Entry(0x1A86, 0x7523, "WCH CH340", driver: "ch341"),
    Entry(0x1A86, 0x55D3, "WCH CH343", driver: "cdc_acm"),
    Entry(0x1A86, 0x55D4, "WCH CH9102", driver: "cdc_acm"),
    Entry(ftdi, 0x6001, "FTDI FT232R", driver: "ftdi_sio"),
    Entry(ftdi, 0x6010, "FTDI FT2232", driver: "ftdi_sio"),
    Entry(ftdi, 0x6011, "FTDI FT4232", driver: "ftdi_sio"),
    Entry(ftdi, 0x6014, "FTDI FT232H", driver: "ftdi_sio"),
    Entry(ftdi, 0x6015, "FTDI FT230X", driver: "ftdi_sio"),
    Entry(0x067B, 0x2303, "Prolific PL2303", driver: "pl2303"),
    Entry(0x067B, 0x23A3, "Prolific PL2303", driver: "pl2303"),
  ]
}
