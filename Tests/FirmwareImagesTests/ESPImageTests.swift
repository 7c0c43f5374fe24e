import FirmwareImages
import Testing

struct ESPImageTests {
  @Test func `header, segments, checksum, hash and descriptor are read`() throws {
    // What follows an image in a flash does not matter.
    let image = try ESPImage(parsing: sampleImage + [1, 2, 3])
    #expect(image.chip?.name == "esp32c3")
    #expect(image.entry == 0x4037_C000)
    #expect(image.segments.map(\.address) == [0x3C00_0020, 0x4037_C000])
    #expect(image.segments.map(\.lengthBytes) == [256, 16])
    #expect(image.lengthBytes == sampleImage.count)
    #expect(image.hash == .valid(Array(sampleImage.suffix(32))))
    #expect((image.minimumRevision, image.maximumRevision) == (3, 0xFFFF))
    let descriptor = try #require(image.descriptor)
    #expect(descriptor.project == "notibot")
    #expect(descriptor.version == "1.0.0")
    #expect(descriptor.idfVersion == "v5.3")
    #expect(descriptor.elfSHA256 == Array(0..<32))
  }

  @Test func `an image without a hash ends with its checksum`() throws {
    let image = try ESPImage(parsing: sampleImage.asBootloader)
    #expect(image.hash == .none)
    #expect(image.lengthBytes == sampleImage.count - 32)
    #expect(image.descriptor == nil)
  }

  @Test func `damage is named`() {
    func problem(_ bytes: [UInt8]) -> ImageError? {
      do throws(ImageError) {
        _ = try ESPImage(parsing: bytes)
        return nil
      } catch {
        return error
      }
    }
    #expect(problem([]) == .erased)
    #expect(problem([UInt8](repeating: 0xFF, count: 100)) == .erased)
    #expect(problem(Array("\u{7F}ELF and more bytes than a header has".utf8)) == .isOther(.elf))
    #expect(problem(sampleImage.with(0xE8, at: 0)) == .badMagic(0xE8))
    #expect(problem(sampleImage.with(0, at: 1)) == .badSegmentCount(0))
    #expect(problem(sampleImage.with(17, at: 1)) == .badSegmentCount(17))
    #expect(problem(sampleImage.with(1, at: 28)) == .badSegmentLength(index: 0, bytes: 0x101))
    #expect(problem(sampleImage.with(0xFF, at: 31)) == .badSegmentLength(index: 0, bytes: 0xFF00_0100))
    #expect(problem(sampleImage.with(0xFF, at: 60)) != nil)
    #expect(problem(sampleImage.with(sampleImage[351] ^ 1, at: 351)) == .badHash)
    let checksum = sampleImage[319]
    #expect(
      problem(sampleImage.with(checksum ^ 1, at: 319))
        == .badChecksum(stored: checksum ^ 1, computed: checksum))
  }

  @Test(arguments: 0..<sampleImage.count)
  func `any cut is detected`(count: Int) {
    #expect(throws: ImageError.self) { try ESPImage(parsing: sampleImage.prefix(count)) }
  }

  @Test func `no byte of a header traps`() {
    for offset in 0..<40 {
      for byte in [UInt8(0), 1, 0x7F, 0x80, 0xFF] {
        _ = try? ESPImage(parsing: sampleImage.with(byte, at: offset))
        _ = try? PartitionTable(parsing: sampleTable.with(byte, at: offset))
      }
    }
  }

  @Test func `an image is for one chip`() throws {
    let image = try ESPImage(parsing: sampleImage)
    try image.check(for: try #require(.named("ESP32-C3")))
    #expect(throws: ImageError.wrongChip(image: "esp32c3", expected: "esp32")) {
      try image.check(for: ESPChip.all[0])
    }
  }
}
