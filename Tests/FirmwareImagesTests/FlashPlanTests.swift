import FirmwareImages
import Testing

struct FlashPlanTests {
  private typealias File = FlashPlan.File

  private static let name = "app.bin"
  private static let c3 = ESPChip.esp32c3

  /// The sample image for an ESP32: the chip's number is not covered by the checksum, only by the
  /// hash, which is left out.
  private static let esp32Image = Array(sampleImage.dropLast(32)).with(0, at: 12).with(0, at: 23)

  private func error(
    _ files: [FlashPlan.File], chip: ESPChip? = nil, flashBytes: Int? = nil, isForced: Bool = false
  ) -> FlashPlanError? {
    do throws(FlashPlanError) {
      _ = try FlashPlan(files: files, chip: chip, flashBytes: flashBytes, isForced: isForced)
      return nil
    } catch {
      return error
    }
  }

  private func app(_ offset: UInt32?, _ bytes: [UInt8] = sampleImage) -> FlashPlan.File {
    FlashPlan.File(name: Self.name, bytes: bytes, offset: offset)
  }

  @Test func `files without an offset get it from what they are`() throws {
    let plan = try FlashPlan(files: [
      app(nil), File(name: "boot", bytes: sampleImage.asBootloader), File(name: "table", bytes: sampleTable),
    ])
    #expect(plan.parts.map(\.name) == ["boot", "table", Self.name])
    #expect(plan.parts.map(\.offset) == [0, 0x8000, 0x10000])
    #expect(plan.chip == Self.c3)
    #expect(plan.app?.version == "1.0.0")
    #expect(!plan.isAppOnly)
  }

  @Test func `a merged file begins at 0, whatever its chip`() throws {
    let merged = flash([0: sampleImage.asBootloader, 0x8000: sampleTable, 0x10000: sampleImage])
    let plan = try FlashPlan(files: [File(name: "merged", bytes: merged)])
    #expect(plan.parts.map(\.offset) == [0])
    #expect(plan.app?.version == "1.0.0")
    #expect(!plan.isAppOnly)
  }

  @Test func `an application alone needs an offset, data of any kind too`() throws {
    #expect(error([app(nil)]) == .noOffset(Self.name))
    #expect(error([File(name: "text", bytes: [0x41])]) == .image("text", .badMagic(0x41)))
    let plan = try FlashPlan(files: [File(name: "text", bytes: [0x41], offset: 0x9000)])
    #expect(plan.chip == nil && plan.parts[0].content == .data)
    #expect(try FlashPlan(files: [app(0x10000)]).isAppOnly)
  }

  @Test func `damaged images, and files of other kinds, are refused with their name`() {
    #expect(
      error([app(0, Array(sampleImage.prefix(300)))])
        == .image(Self.name, .truncated(needed: 312, present: 300, segment: 1)))
    #expect(
      error([app(0, sampleImage.with(0xB3, at: 319))])
        == .image(Self.name, .badChecksum(stored: 0xB3, computed: 0xB2)))
    #expect(error([app(0x10000, [0x7F, 0x45, 0x4C, 0x46])]) == .image(Self.name, .isOther(.elf)))
    #expect(error([app(0, Self.esp32Image.with(0xEE, at: 12))]) == .image(Self.name, .unknownChip(0xEE)))
    #expect(error([]) == .count(0))
  }

  @Test func `images for another chip, or for two, are refused`() {
    #expect(
      error([app(0)], chip: .esp32s3) == .image(Self.name, .wrongChip(image: "esp32c3", expected: "esp32s3")))
    let other = File(name: "other", bytes: Self.esp32Image, offset: 0x20000)
    #expect(error([app(0), other]) == .image("other", .wrongChip(image: "esp32", expected: "esp32c3")))
  }

  @Test func `places must be sectors of the flash that nothing else has`() {
    #expect(error([app(0x10010)]) == .unaligned(Self.name, 0x10010))
    #expect(error([app(0x10000), File(name: "data", bytes: [1], offset: 0x10000)]) != nil)
    let long = File(name: "data", bytes: [UInt8](repeating: 1, count: 0x1001), offset: 0xF000)
    #expect(error([long, app(0x10000)]) == .overlapping("data", Self.name, at: 0x10000))
    let tight = File(name: "data", bytes: [UInt8](repeating: 1, count: 0x1000), offset: 0xF000)
    #expect(error([tight, app(0x10000)]) == nil)
    #expect(error([app(0xFF_F000)]) == nil)
    #expect(
      error([app(.max - 0xFFF)])
        == .outside(Self.name, end: 0x1_0000_0000 - 0x1000 + 352, flashBytes: 128 << 20))
    #expect(
      error([app(0x20_0000)], flashBytes: 2 << 20) == .outside(Self.name, end: 0x20_0160, flashBytes: 2 << 20)
    )
  }

  @Test func `the first image declares the size of the flash`() {
    // 2 of the sample's flash size code is 4 MB.
    let first = app(0, sampleImage.asBootloader)
    #expect(error([first, File(name: "data", bytes: [1], offset: 0x3F_F000)]) == nil)
    #expect(
      error([first, File(name: "data", bytes: [1], offset: 0x40_0000)])
        == .outside("data", end: 0x40_0001, flashBytes: 4 << 20))
  }

  @Test func `an application that needs a bootloader does not take its place`() {
    #expect(
      error([app(0)]) == .misplaced(Self.name, what: "an application", at: 0, right: 0x10000))
  }

  @Test func `files of other tools are no data, and data is no application`() {
    for beginning in ["UF2\n", ":020000", "version https://git-lfs"] {
      let file = File(name: "x", bytes: Array(beginning.utf8), offset: 0x11_0000)
      guard case .image("x", .isOther) = error([file]) else { return #expect(Bool(false), "\(beginning)") }
    }
    let table = File(name: "table", bytes: sampleTable)
    let text = File(name: "x", bytes: [UInt8](repeating: 0x41, count: 64), offset: 0x10000)
    guard case .misplaced("x", _, 0x10000, nil) = error([table, text]) else {
      return #expect(Bool(false), "data instead of an application")
    }
    let erased = File(name: "x", bytes: [UInt8](repeating: 0xFF, count: 64), offset: 0x10000)
    #expect(error([table, erased]) == nil)
  }

  @Test func `an image that is larger than its partition is refused`() {
    let table = File(name: "table", bytes: sampleTable)
    #expect(
      error([table, app(0x10000, sampleImage + [UInt8](repeating: 0xFF, count: 0x10000))])
        == .partition(Self.name, "factory", limitBytes: 0x10000, bytes: 0x10000 + 352))
  }

  /// Places from which a board does not boot, and the one that is right.
  @Test(
    arguments: [
      (sampleImage.asBootloader, 0x1000, 0), (sampleImage.asBootloader, 0x8000, 0),
      (sampleTable, 0x1000, 0x8000), (sampleImage, 0x8000, 0x10000), (sampleImage, 0x2000, 0x10000),
      (flash([0: sampleImage.asBootloader, 0x8000: sampleTable, 0x10000: sampleImage]), 0x10000, 0),
      (Array("# Name, Type, SubType, Offset\n".utf8), 0x8000, nil), ([0x1F, 0x8B, 8], 0, nil),
    ] as [([UInt8], UInt32, UInt32?)])
  func `a file at a place from which nothing boots is refused, unless forced`(
    bytes: [UInt8], offset: UInt32, right: UInt32?
  ) {
    let file = File(name: Self.name, bytes: bytes, offset: offset)
    guard case .misplaced(Self.name, _, offset, right)? = error([file], chip: Self.c3) else {
      Issue.record("\(String(describing: error([file], chip: Self.c3)))")
      return
    }
    switch error([file], chip: Self.c3, isForced: true) {
    // The merged file is also larger than the partition there.
    case nil, .partition: break
    case let other?: Issue.record("\(other)")
    }
  }

  @Test func `an application belongs to one of the table's partitions`() {
    let table = File(name: "table", bytes: sampleTable)
    #expect(error([table, app(0x20000)]) == nil)
    #expect(
      error([table, app(0x18000)])
        == .misplaced(Self.name, what: "an application", at: 0x18000, right: 0x10000))
  }

  @Test func `a direct-boot program runs at 0, and nowhere else`() {
    let bytes: [UInt8] =
      [0x1D, 0x04, 0xDB, 0xAE, 0x1D, 0x04, 0xDB, 0xAE] + [UInt8](repeating: 0x13, count: 64)
    func program(_ offset: UInt32?) -> File { File(name: "d", bytes: bytes, offset: offset) }
    #expect(error([program(0)], chip: Self.c3) == nil)
    #expect(
      error([program(0x8000)], chip: Self.c3)
        == .misplaced("d", what: "a direct-boot program", at: 0x8000, right: 0))
    #expect(error([program(nil)], chip: Self.c3) == .image("d", .isOther(.directBoot)))
  }

  @Test func `a table without a partition for an application is refused`() {
    let rows = (0..<2).flatMap { row in Array(sampleTable[(row * 32)..<(row * 32 + 32)]).with(1, at: 2) }
    let table = File(name: "table", bytes: rows + Array(repeating: 0xFF, count: 64))
    guard case .image("table", .badTable)? = error([table]) else {
      Issue.record("\(String(describing: error([table])))")
      return
    }
    #expect(error([table], isForced: true) == nil)
  }

  @Test func `a table that needs more than the bootloader's flash is refused`() {
    // 0x0F: 1 MB; the sample's table ends at 0x40000.
    let small = File(name: "boot", bytes: sampleImage.asBootloader.with(0x0F, at: 3))
    let large = sampleTable.prefix(160).map(\.self).with(0x20, at: 4 * 32 + 10)
    #expect(error([small, File(name: "table", bytes: sampleTable)]) == nil)
    guard case .image("table", .badTable)? = error([small, File(name: "table", bytes: large)]) else {
      Issue.record("accepted")
      return
    }
  }

  @Test func `the codes of a header reach to 128 MB`() throws {
    for (code, megabytes) in [(4, 16), (5, 32), (7, 128)] {
      let boot = sampleImage.asBootloader.with(UInt8(code << 4 | 0xF), at: 3)
      #expect(try ESPImage(parsing: boot).flashBytes == megabytes << 20)
      let far = File(name: "data", bytes: [1], offset: UInt32(megabytes << 20) - 0x1000)
      #expect(error([File(name: "boot", bytes: boot), far]) == nil)
    }
  }

  @Test func `changed sectors are those in which a byte differs, erased ones included`() throws {
    let bytes = [UInt8](repeating: 1, count: 0x2800)
    let part = try FlashPlan(files: [File(name: "data", bytes: bytes, offset: 0x9000)]).parts[0]
    #expect(part.changedSectors(from: bytes) == [])
    #expect(part.changedSectors(from: bytes.with(2, at: 0x1FFF)) == [0xA000])
    // The rest of the last sector is erased by both.
    #expect(part.changedSectors(from: bytes + [UInt8](repeating: 0xFF, count: 9)) == [])
    #expect(part.changedSectors(from: bytes + [0]) == [0xB000])
    #expect(part.changedSectors(from: Array(bytes.prefix(0x1000))) == [0xA000, 0xB000])
    #expect(part.changedSectors(from: []) == [0x9000, 0xA000, 0xB000])
  }
}

struct FirmwareMatchTests {
  private static let app = try? ESPImage(parsing: sampleImage[...]).descriptor

  private func match(_ version: String?, _ hash: [UInt8]?) -> FirmwareMatch {
    FirmwareMatch(version: version, buildHash: hash, image: Self.app)
  }

  @Test func `a build hash of four bytes or more decides`() {
    #expect(match("9", [0, 1, 2, 3]) == .buildHash)
    #expect(match(nil, Array(0..<32)) == .buildHash)
    guard case .other = match("9", [0, 1, 2, 4]), case .unknown = match("1.0.0", [0, 1, 2, 4]) else {
      Issue.record("another hash")
      return
    }
  }

  @Test func `without a hash the version counts, and nothing is claimed without both`() {
    #expect(match("1.0.0", nil) == .version)
    #expect(match("1.0.0", [0, 1, 2]) == .version)
    #expect(match("1.0.1", nil) == .other("it reports version 1.0.1, the image has 1.0.0"))
    #expect(match(nil, nil) == .unknown("the firmware reports neither build hash nor version"))
    #expect(
      FirmwareMatch(version: "1.0.0", buildHash: [0, 1, 2, 3], image: nil)
        == .unknown("the image does not name itself"))
  }
}
