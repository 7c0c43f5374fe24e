import FirmwareImages
import Foundation
import SerialLink

/// The files that a command line names: images with offsets, or a build of ESP-IDF.
struct FlashFiles: Sendable {
  var files: [FlashPlan.File] = []
  /// The folder of the build; nil for single files.
  private var folder: String?
  /// The chip of the build.
  var chip: ESPChip?
  /// The size of the flash that the build is for.
  var flashBytes: Int?
  /// Whether the header of its bootloader gets the size that the flash has.
  var adaptsToFlash = false

  private static let descriptionName = "flasher_args.json"
  private static let descriptionLimitBytes = 1 << 20

  /// Reads files. Throws `Failure` for unreadable ones.
  init(_ arguments: [String]) async throws {
    for argument in arguments {
      let (path, offset) = Self.split(argument)
      var status = stat()
      let isFolder = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
      if isFolder || path.split(separator: "/").last.map(String.init) == Self.descriptionName {
        guard offset == nil else {
          throw Failure(
            .usage, "\(path.printable) has offsets of its own",
            remedy: "omit @0x\(hex(offset ?? 0, digits: 0))")
        }
        guard arguments.count == 1 else {
          throw Failure(
            .usage, "a build cannot be combined with other images", remedy: "flash them one after the other")
        }
        try await readBuild(isFolder ? path : (path as NSString).deletingLastPathComponent)
      } else {
        files.append(FlashPlan.File(name: path, bytes: try await FirmwareFile.read(path), offset: offset))
      }
    }
  }

  /// The paths of the files that a command line names; of a build that can be read, those of its
  /// parts.
  static func paths(of arguments: [String]) async -> [String] {
    guard let files = try? await FlashFiles(arguments), let folder = files.folder else {
      return arguments.map { split($0).path }
    }
    return ([descriptionName] + files.files.map(\.name)).map { "\(folder)/\($0)" }
  }

  /// The plan. Throws `Failure` for files that cannot be flashed.
  ///
  /// - Parameter isForced: whether a place from which a board does not boot is accepted.
  func plan(chip required: ESPChip?, isForced: Bool = false) throws -> FlashPlan {
    if let required, let chip, required != chip {
      throw Failure(
        .usage, "the build is for \(chip.name), not for \(required.name)", remedy: "build it for that chip")
    }
    do {
      return try FlashPlan(
        files: files, chip: required ?? chip, flashBytes: flashBytes, adaptsToFlash: adaptsToFlash,
        isForced: isForced)
    } catch {
      throw Failure(error)
    }
  }

  /// `PATH@OFFSET`, as long as the text behind the last @ is a number.
  private static func split(_ argument: String) -> (path: String, offset: UInt32?) {
    guard let sign = argument.lastIndex(of: "@"),
      let offset = number(String(argument[argument.index(after: sign)...]))
    else { return (argument, nil) }
    return (String(argument[..<sign]), offset)
  }

  private static func number(_ text: String) -> UInt32? {
    text.lowercased().hasPrefix("0x") ? UInt32(text.dropFirst(2), radix: 16) : UInt32(text)
  }

  // MARK: A build of ESP-IDF

  /// What ESP-IDF writes for programs that flash. Source: its `flasher_args.json.in`.
  private struct Description: Decodable {
    struct Settings: Decodable { var flash_size: String? }
    struct Extra: Decodable { var chip: String? }
    struct Part: Decodable { var encrypted: String? }

    var flash_files: [String: String]
    var flash_settings: Settings?
    var extra_esptool_args: Extra?
    var bootloader: Part?
    var app: Part?
    var partitionTable: Part?

    enum CodingKeys: String, CodingKey {
      case flash_files, flash_settings, extra_esptool_args, bootloader, app
      case partitionTable = "partition-table"
    }
  }

  private mutating func readBuild(_ given: String) async throws {
    let folder = given.isEmpty ? "." : given
    self.folder = folder
    func failure(_ reason: String, _ remedy: String = "build it with: idf.py build") -> Failure {
      Failure(.usage, "cannot use \(folder.printable): \(reason)", remedy: remedy)
    }
    let path = "\(folder)/\(Self.descriptionName)"
    guard access(path, F_OK) == 0 else {
      throw failure("it is not a build of ESP-IDF: \(Self.descriptionName) is missing")
    }
    let bytes = try await FirmwareFile.read(path)
    guard bytes.count <= Self.descriptionLimitBytes,
      let description = try? JSONDecoder().decode(Description.self, from: Data(bytes)),
      (1...FlashPlan.partsLimit).contains(description.flash_files.count)
    else { throw failure("\(Self.descriptionName) is not one of ESP-IDF") }
    let isEncrypted = [description.bootloader, description.app, description.partitionTable].contains {
      $0?.encrypted == "true"
    }
    guard !isEncrypted else {
      throw failure("its flash is encrypted", "flash it with: idf.py encrypted-flash")
    }
    for (text, name) in description.flash_files.sorted(by: { $0.key < $1.key }) {
      guard let offset = Self.number(text) else { throw failure("'\(text.printable)' is not an offset") }
      guard !name.hasPrefix("/"), !name.split(separator: "/").contains(".."), Self.contains(folder, name)
      else {
        throw failure(
          "'\(name.printable)' is not in it",
          "name its files one by one: notibot flash \(name.printable)@\(text.printable) …")
      }
      files.append(
        FlashPlan.File(name: name, bytes: try await FirmwareFile.read("\(folder)/\(name)"), offset: offset))
    }
    if let name = description.extra_esptool_args?.chip {
      guard let chip = ESPChip.named(name) else {
        throw failure("it is for an unknown chip, \(name.printable)", "")
      }
      self.chip = chip
    }
    if let size = description.flash_settings?.flash_size {
      guard let bytes = Self.sizeBytes(size) else {
        throw failure("'\(size.printable)' is not the size of a flash", "use one such as 4MB")
      }
      flashBytes = bytes ?? flashBytes
      adaptsToFlash = size == "detect"
    }
  }

  /// Of esptool's name for it; `.some(nil)`: the one that the chip has or the image says, or more
  /// than is written here.
  private static func sizeBytes(_ name: String) -> Int?? {
    if ["detect", "keep"].contains(name) { return .some(nil) }
    let units = ["KB": 10, "MB": 20]
    // A number can have a sign.
    guard let shift = units[String(name.suffix(2))], let count = UInt16(name.dropLast(2)), count > 0,
      !name.hasPrefix("+")
    else { return .none }
    let bytes = Int(count) << shift
    return bytes <= FlashPlan.flashLimitBytes ? bytes : .some(nil)
  }

  /// Whether a path is in a folder, also behind symbolic links.
  private static func contains(_ folder: String, _ name: String) -> Bool {
    func real(_ path: String) -> [String] {
      URL(fileURLWithPath: path).resolvingSymlinksInPath().standardizedFileURL.pathComponents
    }
    return real("\(folder)/\(name)").starts(with: real(folder))
  }
}

extension Failure {
  /// The failure for files that cannot be flashed.
  init(_ error: FlashPlanError) {
    switch error {
    case .image(let name, let error): self.init(error, file: name)
    case .count(let count):
      self.init(
        .usage, "\(count) images cannot be flashed at once", remedy: "name 1 to \(FlashPlan.partsLimit)")
    case .noOffset(let name):
      self.init(
        .usage, "the place of \(name.printable) is not known",
        remedy: "add its offset, for example \(name.printable)@0x10000, where ESP-IDF puts an application")
    case .unaligned(let name, let offset):
      self.init(
        .usage, "\(name.printable) cannot begin at 0x\(hex(offset, digits: 0))",
        remedy: "use a multiple of 0x\(hex(UInt32(FlashPlan.sectorBytes), digits: 0)), the size of a sector")
    case .outside(let name, let end, let flashBytes):
      self.init(
        .usage, "\(name.printable) does not fit: it ends at \(end), the flash has \(flashBytes >> 20) MB",
        remedy: "build a smaller one, or for a larger flash")
    case .overlapping(let first, let second, let offset):
      self.init(
        .usage, "\(first.printable) and \(second.printable) overlap at 0x\(hex(offset, digits: 0))",
        remedy: "check their offsets; a sector of 4096 bytes belongs to one image only")
    case .misplaced(let name, let what, let offset, let right):
      self.init(
        .usage, "\(name.printable) at 0x\(hex(offset, digits: 0)): the board would not boot: it is \(what)",
        remedy: (right.map { "it belongs at 0x\(hex($0, digits: 0))" } ?? "write an image there")
          + ", or write it nevertheless with --force")
    case .partition(let name, let partition, let limit, let bytes):
      self.init(
        .usage, "\(name.printable) has \(bytes) bytes, its partition \(partition.printable) only \(limit)",
        remedy: "enlarge the partition, or build a smaller image")
    }
  }
}
