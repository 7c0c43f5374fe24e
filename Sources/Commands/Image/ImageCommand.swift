import ArgumentParser
import FirmwareImages
import SerialLink

/// `notibot image`: what is in a firmware file.
struct ImageCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "image", abstract: "Inspect firmware images.", subcommands: [ImageInfoCommand.self])
}

/// `notibot image info`: describes an image, a partition table or the content of a whole flash.
struct ImageInfoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "info", abstract: "Describe an image, a partition table or a whole flash.",
    discussion: """
      Checks checksum, SHA-256 and partition table as the chip does. A file with a bootloader and a \
      partition table is a whole flash, and the application that would run is described.
      """)

  @Argument(help: "The file.")
  var file: String
  @Option(
    help: ArgumentHelp("Required chip, such as esp32c3.", valueName: "chip"),
    completion: .list(ESPChip.all.map(\.name)))
  var chip: String?
  @Flag(help: "Print one JSON document.")
  var json = false

  func validate() throws {
    if let chip, ESPChip.named(chip) == nil {
      let names = ESPChip.all.map(\.name).joined(separator: ", ")
      throw ValidationError("--chip must be one of \(names)")
    }
  }

  func run() async throws {
    let bytes = try await FirmwareFile.read(file)
    do throws(ImageError) {
      let description = try ImageDescription(of: bytes, chip: chip.flatMap(ESPChip.named))
      if json { Output.data(description.document(file: file)) } else { Output.data(description.text) }
    } catch {
      throw Failure(error, file: file)
    }
  }
}

extension Failure {
  /// The failure for a file that is no usable image.
  init(_ error: ImageError, file: String) {
    let remedy =
      switch error {
      case .isOther(let kind): kind.remedy
      case .truncated, .badChecksum, .badHash: "build or download it again"
      case .wrongChip: "build it for that chip"
      case .badMagic: "name an image; to flash other data, add its offset: FILE@OFFSET"
      case .noApp: "merge it again, with the application at the offset of its partition"
      case .erased, .badSegmentCount, .badSegmentLength, .unknownChip: ""
      case .misplaced(let chip, _): "merge it again, with --chip \(chip.name)"
      case .badTable: "make it again, for the flash that the bootloader is built for"
      }
    self.init(.usage, "\(file.printable) cannot be used: \(error)", remedy: remedy)
  }
}
