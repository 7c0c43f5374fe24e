/// Vendor and product number of a USB device, written `303a:1001`.
package struct USBID: Hashable, Sendable, CustomStringConvertible {
  package let vendor: UInt16
  package let product: UInt16

  package init(vendor: UInt16, product: UInt16) {
    self.vendor = vendor
    self.product = product
  }

  package var description: String {
    "\(USBID.digits(vendor)):\(USBID.digits(product))"
  }

  /// Exactly four hexadecimal digits, as sysfs and users write them; `nil` for anything else.
  static func number(_ text: some StringProtocol) -> UInt16? {
    guard text.utf8.count == 4, text.allSatisfy(\.isHexDigit) else { return nil }
    return UInt16(text, radix: 16)
  }

  /// Four hexadecimal digits, as sysfs has them.
  static func digits(_ number: UInt16) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: 4 - text.count) + text
  }
}
