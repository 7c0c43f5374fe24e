package import Conformance
import FirmwareImages
import Foundation
package import SerialLink

extension PortName.ChipLine {
  /// Its name in a report.
  package var place: String {
    switch self {
    case .uart: "UART0 of a model of the ESP32-C3"
    case .usb: "the USB-Serial-JTAG of a model of the ESP32-C3"
    }
  }
}

/// What is in the flash of a chip, from address 0.
package struct ChipImage: Sendable {
  /// The largest flash that the chip can address.
  package static let limitBytes = 16 << 20
  /// The reference firmware's images, relative to the root of the repository.
  package static let folder = "firmware-fixtures/ports/esp32c3/images"

  package let bytes: [UInt8]
  /// The path it was read from.
  package let path: String

  /// Reads an image or a flash's content.
  ///
  /// - Parameter path: nil for the reference firmware's image for `line`: below the current
  ///   directory, the folder that this program was built in, or as installed with it.
  /// - Throws: `RigTrouble` if it cannot be read, or does not begin with an image that the chip
  ///   accepts.
  package static func read(_ path: String?, line: PortName.ChipLine) throws(RigTrouble) -> ChipImage {
    let path = if let path { path } else { try referencePath(line) }
    let remedy = "name an image for ESP32-C3, as made by firmware-fixtures/ports/esp32c3/build"
    let attributes = try? FileManager.default.attributesOfItem(
      atPath: URL(fileURLWithPath: path).resolvingSymlinksInPath().path)
    guard let attributes else { throw RigTrouble("there is no image at \(path)", remedy: remedy) }
    // Opening a FIFO would wait for its writer.
    guard attributes[.type] as? FileAttributeType == .typeRegular else {
      throw RigTrouble("\(path) is not a file", remedy: remedy)
    }
    guard let size = attributes[.size] as? Int, (1...limitBytes).contains(size) else {
      throw RigTrouble("\(path) is empty or has more than \(limitBytes >> 20) MB", remedy: remedy)
    }
    guard let file = FileHandle(forReadingAtPath: path), let data = try? file.read(upToCount: limitBytes)
    else { throw RigTrouble("cannot read \(path)", remedy: remedy) }
    do throws(ImageError) {
      // As `flash` and `image info` judge it.
      if let content = try FlashContent.merged(Array(data)) {
        try content.first.check(for: .esp32c3)
      } else {
        _ = try ESPImage(parsing: data, for: .esp32c3)
      }
    } catch {
      throw RigTrouble("\(path) is not an image for ESP32-C3: \(error)", remedy: remedy)
    }
    return ChipImage(bytes: Array(data), path: path)
  }

  private static func referencePath(_ line: PortName.ChipLine) throws(RigTrouble) -> String {
    let name = "\(folder)/notibot-esp32c3-\(line.rawValue).bin"
    if let path = BuiltFile.path(name, in: "", orAbove: 4) { return path }
    throw RigTrouble(
      "the reference firmware's image is not here: there is no \(name)",
      remedy: "name an image for ESP32-C3, or install the package again")
  }
}
