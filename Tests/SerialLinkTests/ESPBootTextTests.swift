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
    ("e??ts\u{FF}rst:0x5 (DEEPSLEEP_RESET),boot:0x13 (SPI)\n", "DEEPSLEEP_RESET", false),
    ("rst:0x6 (N/A),boot:0x13 (unk)\n", "N/A", false),
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
    "rst:0x1 (),boot:0xc (X)\n", "rst:0x1 (\(String(repeating: "A", count: 61))),boot:0xc (X)\n",
    "first:0x1 (A),boot:0x1 (B)\n", "burst:0x40, worst:0x10\n", "_rst:0x1 (A),boot:0x1 (B)\n",
    "rst:0x100 (A),boot:0x1 (B)\n", "rst:0x1 (A), boot:0x1 (B)\n", "rst:0x1 (A b),boot:0x1 (B)\n",
    "I (31) boot: hello\n",
  ])
  func `an incomplete boot line is ignored`(text: String) {
    #expect(ESPBootText(lastIn: Array(text.utf8)) == nil)
  }

  @Test(arguments: [
    ("0x1 (POWERON)", ESPResetCause.Meaning.intended), ("0x2 (EXT_SYS_RESET)", .intended),
    ("0x3 (RTC_SW_SYS_RST)", .software), ("0x5 (SLEEP_WAKEUP)", .intended), ("0x6 (SDIO_RESET)", .intended),
    ("0x7 (TG0WDT_SYS_RESET)", .trouble(.watchdog)), ("0x10 (LP_WDT_SYS)", .trouble(.watchdog)),
    ("0xc (SW_CPU)", .software), ("0xf (RTCWDT_BROWN_OUT_RESET)", .trouble(.brownout)),
    ("0xf (LP_BOD_SYS)", .trouble(.brownout)), ("0x12 (SUPER_WDT_RST)", .trouble(.watchdog)),
    ("0x13 (GLITCH_RTC_RST)", .trouble(.brownout)), ("0x15 (USB_UART_HPSYS)", .intended),
    ("0x17 (POWER_GLITCH_RESET)", .trouble(.brownout)), ("0x17 (CHIP_USB_UART_RESET)", .intended),
    ("0x1a (CPU_LOCKUP)", .trouble(.lockup)), ("0x14 (EFUSE_RST)", .unknown), ("0x0 (NO_MEAN)", .unknown),
    ("0xa (INTRUSION_RST)", .unknown), ("0x7f (unk)", .unknown),
  ])
  func `the number of a cause says who wanted the start`(cause: String, meaning: ESPResetCause.Meaning) {
    #expect(ESPBootText(lastIn: Array("rst:\(cause),boot:0x1 (X)\n".utf8))?.cause.meaning == meaning)
  }

  @Test func `SYNC is esptool's, and its answer is found anywhere`() {
    #expect(ESPLoader.sync.count == 46)
    #expect(ESPLoader.sync.prefix(13) == [0xC0, 0, 8, 0x24, 0, 0, 0, 0, 0, 7, 7, 0x12, 0x20])
    #expect(ESPLoader.hasAnswered(in: [1, 2, 0xC0, 0x01, 0x08, 0x04]))
    #expect(!ESPLoader.hasAnswered(in: [0xC0, 0x01]) && !ESPLoader.hasAnswered(in: ESPLoader.sync))
  }
}
