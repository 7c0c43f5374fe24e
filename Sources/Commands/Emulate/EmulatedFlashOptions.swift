import ArgumentParser
import DeviceEmulator
import SerialLink

/// The chip of an emulator and its flash.
struct EmulatedFlashOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Keep the flash of the chip in this file, and let esptool write it; see docs/CLI.md.",
      discussion: "A missing file is created, filled with FF. After a reset the emulator boots from it.",
      valueName: "path"),
    completion: .file())
  var flashFile: String?

  @Option(
    help: ArgumentHelp(
      "esp32, esp32s3 or esp32c3, with --flash-file. Default: esp32c3.", valueName: "name"),
    completion: .list(["esp32", "esp32s3", "esp32c3"]))
  var chip: String?

  @Option(
    help: ArgumentHelp(
      "1MB, 2MB, 4MB, 8MB or 16MB, with --flash-file. Default: the file's size, at least 4MB.",
      valueName: "size"))
  var flashSize: String?

  @Option(
    help: ArgumentHelp(
      "Inject faults of flashing, for example md5,checksum@3,unplug@12; see docs/CLI.md.", valueName: "spec"))
  var flashFaults: String?

  /// nil without --flash-file.
  func parsed() throws -> FlashOptions? {
    guard let flashFile else {
      guard chip == nil, flashSize == nil, flashFaults == nil else {
        throw Failure(
          .usage, "--chip, --flash-size and --flash-faults need a flash", remedy: "add --flash-file PATH")
      }
      return nil
    }
    var options = FlashOptions(chip: .esp32c3, file: flashFile)
    if let chip {
      guard let name = ChipModel.Name(rawValue: chip) else {
        throw Failure(
          .usage, "unknown chip '\(chip.printable)'",
          remedy: "choose one of \(ChipModel.Name.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      options.chip = name
    }
    if let flashSize {
      guard flashSize.hasSuffix("MB"), let megabytes = Int(flashSize.dropLast(2)),
        let size = NORFlash.sizes.first(where: { $0 >> 20 == megabytes })
      else {
        throw Failure(
          .usage, "a flash cannot have '\(flashSize.printable)'", remedy: "choose 1MB, 2MB, 4MB, 8MB or 16MB")
      }
      options.sizeBytes = size
    }
    if let flashFaults {
      do {
        options.faults = try LoaderFaults(parsing: flashFaults)
      } catch {
        throw Failure(
          .usage, error.description.printable, remedy: "use for example md5,checksum@3,unplug@12")
      }
    }
    return options
  }
}
