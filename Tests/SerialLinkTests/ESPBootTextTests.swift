import Testing

@testable import SerialLink

@Suite struct ESPBootTextTests {
  @Test(arguments: [
    ("rst:0x1 (POWERON_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)\r\n", "POWERON_RESET", false),
    (
      "ESP-ROM:esp32c3-api1-20210207\r\nBuild:Feb  7 2021\r\nrst:0x1 (POWERON),boot:0xc (SPI_FAST_FLASH_BOOT)\r\n",
      "POWERON", false
    ),
    (
      "\u{0}\u{FF}rst:0x1 (POWERON),boot:0x4 (DOWNLOAD(USB/UART0/1))\r\nwaiting for download\r\n", "POWERON",
      true
    ),
    (
      "rst:0x1 (POWERON_RESET),boot:0x3 (DOWNLOAD_BOOT(UART0/UART1/SDIO_REI_REO_V2))\nwaiting for download\n",
      "POWERON_RESET", true
    ),
    (
      "rst:0x1 (A),boot:0x4 (DOWNLOAD(USB/UART0/1))\nwaiting for download\nrst:0x7 (B),boot:0xc (SPI)\n", "B",
      false
    ),
  ])
  func `the last start is read`(text: String, cause: String, isInLoader: Bool) throws {
    let boot = try #require(ESPBootText(lastIn: Array(text.utf8)))
    #expect(boot.cause.name == cause)
    #expect(boot.isInLoader == isInLoader)
  }

  @Test(arguments: [
    "", "rst:0x1 (POWERON),boot:0xc (SPI_FAST_FLASH_BOOT)", "rst:0x1 (POWERON)\n", "boot:0xc (X)\n",
    "rst:0x,boot:0x\n",
    "rst:0x1 (),boot:0xc (X)\n", "rst:0x1 (\(String(repeating: "A", count: 41))),boot:0xc (X)\n",
    "I (31) boot: hello\n",
  ])
  func `an incomplete boot line is ignored`(text: String) {
    #expect(ESPBootText(lastIn: Array(text.utf8)) == nil)
  }

  @Test(arguments: [
    ("TG0WDT_SYS_RESET", ESPResetCause.Trouble.watchdog), ("RTCWDT_BROWN_OUT_RESET", .brownout),
    ("PANIC", .panic), ("CPU_LOCKUP", .lockup), ("POWERON_RESET", nil), ("SW_CPU_RESET", nil),
    ("EXT_CPU_RESET", nil),
  ])
  func `a cause shows whether there was a fault`(
    cause: String, trouble: ESPResetCause.Trouble?
  ) {
    #expect(ESPBootText(lastIn: Array("rst:0x1 (\(cause)),boot:0x1 (X)\n".utf8))?.cause.trouble == trouble)
  }

  @Test func `SYNC is esptool's, and its answer is found anywhere`() {
    #expect(ESPLoader.sync.count == 46)
    #expect(ESPLoader.sync.prefix(13) == [0xC0, 0, 8, 0x24, 0, 0, 0, 0, 0, 7, 7, 0x12, 0x20])
    #expect(ESPLoader.hasAnswered(in: [1, 2, 0xC0, 0x01, 0x08, 0x04]))
    #expect(!ESPLoader.hasAnswered(in: [0xC0, 0x01]) && !ESPLoader.hasAnswered(in: ESPLoader.sync))
  }
}
