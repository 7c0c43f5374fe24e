import FirmwareImages
import NotibotProtocol

/// The output of ROM, boot loader and application, in the format of ESP32 boards. Lines end in CR
/// LF.
enum BootText {
  /// The lines of a ROM that loads a boot loader.
  static let usualLoadText = """
    SPIWP:0xee\r
    mode:DIO, clock div:1\r
    load:0x3fcd5820,len:0x1714\r
    load:0x403cc710,len:0x968\r
    load:0x403ce710,len:0x2f9c\r
    entry 0x403cc710\r\n
    """

  /// The output between a reset and the start of the application.
  static func rom(
    after reason: ResetReason, of chip: ChipModel, loadText: String = usualLoadText
  ) -> String {
    crashReport(for: reason) + chip.banner
      + "rst:\(resetCause(reason, of: chip)),boot:\(chip.applicationStrap)\r\n" + loadText
  }

  /// The output after a reset into the ROM's loader.
  static func download(of chip: ChipModel) -> String {
    chip.banner
      + "rst:\(resetCause(.externalPin, of: chip)),boot:\(chip.downloadStrap)\r\nwaiting for download\r\n"
  }

  /// The log of boot loader and application until the link runs.
  /// - Parameters:
  ///   - booted: what the chip has booted; nil for the usual application.
  ///   - loader: the chip; nil for an ESP32-C3 with 4 MiB.
  ///   - bootCount: counts from 1.
  static func application(
    _ booted: BootedApplication?, of loader: LoaderMachine?, bootCount: UInt32
  ) -> String {
    let name = booted?.descriptor?.project ?? EmulatedDevice.firmwareName
    let version = booted?.descriptor?.version ?? EmulatedDevice.firmwareVersion
    let offset = String(booted?.offset ?? 0x10000, radix: 16)
    let megabytes = (loader?.flash.sizeBytes ?? 4 << 20) >> 20
    let chip = loader?.chip.name.rawValue ?? ChipModel.Name.esp32c3.rawValue
    let bootLoader = """
      I (24) boot: ESP-IDF v5.4 2nd stage bootloader\r
      I (24) boot: chip revision: v0.4\r
      I (31) boot.\(chip): SPI Flash Size : \(megabytes)MB\r
      I (60) boot: Loaded app from partition at offset 0x\(offset)\r\n
      """
    return (booted?.hasBootLoader == false ? "" : bootLoader) + """
      I (262) cpu_start: Pro cpu start user code\r
      I (271) app_init: Project name:     \(name)\r
      I (276) app_init: App version:      \(version)\r
      I (287) heap_init: Initializing. RAM available for dynamic allocation:\r
      I (305) main_task: Calling app_main()\r
      I (312) \(name): boot \(bootCount), link on UART0\r\n
      """
  }

  /// A line that the running application logs periodically.
  static func chatter(name: String, uptimeMs: Int64, storedCount: Int, hasSession: Bool) -> String {
    "I (\(uptimeMs)) \(name): \(storedCount) shown, \(hasSession ? "host connected" : "no host"), heap 183412 free\r\n"
  }

  /// A line that the device was asked to log.
  static func line(_ text: String, name: String, uptimeMs: Int64) -> String {
    "I (\(uptimeMs)) \(name): \(text)\r\n"
  }

  private static func crashReport(for reason: ResetReason) -> String {
    switch reason {
    case .panic:
      """
      Guru Meditation Error: Core  0 panic'ed (Load access fault). Exception was unhandled.\r
      \r
      Core  0 register dump:\r
      MEPC    : 0x42007a1e  RA      : 0x42007a0a  SP      : 0x3fc92f10  GP      : 0x3fc8b600\r
      MSTATUS : 0x00001881  MTVEC   : 0x40380001  MCAUSE  : 0x00000005  MTVAL   : 0x00000000\r
      \r
      Rebooting...\r\n
      """
    case .taskWatchdog:
      """
      E (9812) task_wdt: Task watchdog got triggered. The following tasks did not reset the watchdog in time:\r
      E (9812) task_wdt:  - IDLE (CPU 0)\r\n
      """
    case .brownout:
      "\r\nBrownout detector was triggered\r\n\r\n"
    case .unknown, .powerOn, .externalPin, .software, .interruptWatchdog, .otherWatchdog, .deepSleep, .sdio:
      ""
    }
  }

  /// The ROM's own numbers. Source: the chips' technical reference manuals, table "Reset sources".
  private static func resetCause(_ reason: ResetReason, of chip: ChipModel) -> String {
    switch (reason, chip.causes) {
    case (.powerOn, .short), (.externalPin, .short), (.unknown, .short), (.sdio, .short): "0x1 (POWERON)"
    case (.software, .short), (.panic, .short): "0x3 (RTC_SW_SYS_RST)"
    case (.deepSleep, .short): "0x5 (DSLEEP)"
    case (.interruptWatchdog, .short): "0x8 (TG1WDT_SYS_RST)"
    case (.taskWatchdog, .short): "0x7 (TG0WDT_SYS_RST)"
    case (.otherWatchdog, .short): "0x10 (RTCWDT_RTC_RST)"
    case (.brownout, .short): "0xf (BROWNOUT_RST)"
    case (.powerOn, .long), (.externalPin, .long), (.unknown, .long): "0x1 (POWERON_RESET)"
    case (.software, .long), (.panic, .long): "0xc (SW_CPU_RESET)"
    case (.deepSleep, .long): "0x5 (DEEPSLEEP_RESET)"
    case (.sdio, .long): "0x6 (SDIO_RESET)"
    case (.interruptWatchdog, .long): "0x8 (TG1WDT_SYS_RESET)"
    case (.taskWatchdog, .long): "0x7 (TG0WDT_SYS_RESET)"
    case (.otherWatchdog, .long): "0x10 (RTCWDT_RTC_RESET)"
    case (.brownout, .long): "0xf (RTCWDT_BROWN_OUT_RESET)"
    }
  }
}
