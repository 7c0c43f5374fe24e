import FirmwareImages
import Testing

struct FlashContentTests {
  private let chip = ESPChip.with(id: 5)!

  /// An otadata sector with this number, with the CRC that ESP-IDF writes.
  private func otaData(_ number: UInt32, crc: UInt32, state: UInt32 = .max) -> [UInt8] {
    var sector = [UInt8](repeating: 0xFF, count: 0x1000)
    for (offset, value) in [(0, number), (24, state), (28, crc)] {
      for index in 0..<4 { sector[offset + index] = UInt8(truncatingIfNeeded: value >> UInt32(8 * index)) }
    }
    return sector
  }

  @Test func `the rows of a table are read`() throws {
    let table = try PartitionTable(parsing: sampleTable + [UInt8](repeating: 0xFF, count: 64))
    #expect(table.entries.map(\.name) == ["nvs", "otadata", "factory", "ota_0", "ota_1"])
    #expect(table.entries.map(\.kind) == [.other, .otaData, .factory, .ota(0), .ota(1)])
    #expect(table.entries[2].offset == 0x10000)
    #expect(table.hasMD5)
    #expect(throws: ImageError.badTable(.badMD5)) {
      try PartitionTable(parsing: sampleTable.with(0x5A, at: 12))
    }
    #expect(throws: ImageError.badTable(.overlapping("factory", "ota_0"))) {
      try PartitionTable(parsing: Array(sampleTable.prefix(160)).with(2, at: 64 + 10))
    }
  }

  @Test func `an application at the ROM's offset runs directly`() throws {
    let content = try FlashContent(parsing: flash([0: sampleImage]), chip: chip)
    #expect(content.table == nil)
    #expect(content.running.descriptor?.project == "notibot")
  }

  @Test(
    arguments: [
      (nil, nil, "factory"), (UInt32(1), nil, "ota_0"), (1, 2, "ota_1"), (3, 2, "ota_0"),
    ] as [(UInt32?, UInt32?, String)])
  func `the bootloader starts the slot that otadata names`(first: UInt32?, second: UInt32?, name: String)
    throws
  {
    let crcs: [UInt32: UInt32] = [1: 0x4743_989A, 2: 0x55F6_3774, 3: 0xED4A_5011]
    var parts = [0: sampleImage.asBootloader, 0x8000: sampleTable]
    for (offset, number) in [(0xD000, first), (0xE000, second)] {
      if let number { parts[offset] = otaData(number, crc: crcs[number]!) }
    }
    for offset in [0x10000, 0x20000, 0x30000] { parts[offset] = sampleImage }
    #expect(try FlashContent(parsing: flash(parts), chip: chip).partition?.name == name)
  }

  @Test func `a damaged or aborted otadata sector counts as none`() throws {
    var parts = [
      0: sampleImage.asBootloader, 0x8000: sampleTable, 0x10000: sampleImage, 0x20000: sampleImage,
    ]
    parts[0xD000] = otaData(1, crc: 0x4743_989B)
    #expect(try FlashContent(parsing: flash(parts), chip: chip).partition?.name == "factory")
    parts[0xD000] = otaData(1, crc: 0x4743_989A, state: 4)
    #expect(try FlashContent(parsing: flash(parts), chip: chip).partition?.name == "factory")
  }

  @Test func `a damaged slot falls back to the next one`() throws {
    let parts = [
      0: sampleImage.asBootloader, 0x8000: sampleTable, 0xD000: otaData(1, crc: 0x4743_989A),
      0x10000: sampleImage, 0x20000: sampleImage.with(1, at: 100),
    ]
    #expect(try FlashContent(parsing: flash(parts), chip: chip).partition?.name == "factory")
  }

  @Test func `slots before a damaged one are tried before the factory's application`() throws {
    let parts = [
      0: sampleImage.asBootloader, 0x8000: sampleTable, 0xD000: otaData(2, crc: 0x55F6_3774),
      0x10000: sampleImage, 0x20000: sampleImage, 0x30000: sampleImage.with(1, at: 100),
    ]
    let content = try FlashContent(parsing: flash(parts), chip: chip)
    #expect(content.partition?.name == "ota_0")
    #expect(content.skipped.map(\.partition.name) == ["ota_1"])
  }

  @Test(arguments: [0x8000, 0x9000, 0x10000])
  func `a merged file may end with its last part, and have its table anywhere`(table: Int) throws {
    let parts = [0: sampleImage.asBootloader, table: sampleTable, 0x20000: sampleImage]
    let merged = flash(parts, lengthBytes: 0x20000 + sampleImage.count)
    let content = try #require(try FlashContent.merged(merged))
    #expect(content.partition?.name == "ota_0" && content.tableOffset == table)
    #expect(content.running.descriptor?.project == "notibot")
    #expect(throws: ImageError.self) { try FlashContent.merged(Array(merged.dropLast(40))) }
  }

  @Test func `a merged file can begin with the bootloader of a chip that has it elsewhere`() throws {
    let bootloader = sampleImage.asBootloader.with(0, at: 12)
    let app = Array(sampleImage.dropLast(32)).with(0, at: 23).with(0, at: 12)
    let whole = flash([0x1000: bootloader, 0x8000: sampleTable, 0x10000: app])
    for start in [0, 0x1000] {
      let content = try #require(try FlashContent.merged(Array(whole[start...])))
      #expect(content.fileOffset == UInt32(start) && content.partition?.name == "factory")
    }
    let plan = try FlashPlan(files: [FlashPlan.File(name: "f", bytes: Array(whole[0x1000...]))])
    #expect(plan.parts.map(\.offset) == [0x1000])
    // For a chip that has it at 0.
    let wrong = flash([0x1000: sampleImage.asBootloader, 0x8000: sampleTable, 0x10000: sampleImage])
    #expect(throws: ImageError.misplaced(chip, at: 0x1000)) { try FlashContent.merged(wrong) }
  }

  @Test func `a partition behind the flash of the bootloader's header starts nothing`() {
    // A factory partition of 1 MB, and a header for 1 MB.
    let row = Array(sampleTable[64..<96]).with(0x10, at: 10)
    let parts = [0: sampleImage.asBootloader.with(0x0F, at: 3), 0x8000: row, 0x10000: sampleImage]
    #expect(throws: ImageError.self) { try FlashContent(parsing: flash(parts), chip: chip) }
  }

  @Test func `an application partition begins at a page of the MMU`() {
    let table = Array(sampleTable[64..<96]).with(0x10, at: 5)
    #expect(throws: ImageError.self) { try PartitionTable(parsing: table) }
  }

  @Test func `what does not boot says why`() {
    #expect(throws: ImageError.erased) { try FlashContent(parsing: flash([:]), chip: chip) }
    #expect(throws: ImageError.noApp) {
      try FlashContent(parsing: flash([0: sampleImage.asBootloader, 0x8000: sampleTable]), chip: chip)
    }
    #expect(throws: ImageError.wrongChip(image: "esp32c3", expected: "esp32s3")) {
      try FlashContent(parsing: flash([0: sampleImage]), chip: .with(id: 9)!)
    }
  }
}
