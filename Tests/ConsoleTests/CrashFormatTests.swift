import Testing

@testable import Console

/// Each text of the table, in a line as it is printed.
struct CrashFormatTests {
  /// In the order of the table.
  private static let samples = [
    "Guru Meditation Error: Core  0 panic'ed (Interrupt wdt timeout on CPU0). ",
    "Guru Meditation Error: Core  0 panic'ed (Stack protection fault). ",
    "Guru Meditation Error: Core  1 panic'ed (LoadProhibited). Exception was unhandled.",
    "Debug exception reason: Stack canary watchpoint triggered (main) ",
    "abort() was called at PC 0x4200a2b on core 0",
    "assert failed: xQueueSemaphoreTake queue.c:1709 (( pxQueue ))",
    #"assertion "pxQueue" failed: file "queue.c", line 17, function: f"#,
    "Assert failed in tee_init, main.c:12 (ok)",
    "ESP_ERROR_CHECK failed: esp_err_t 0x103 (ESP_ERR_INVALID_STATE) at 0x42008a3c",
    "ESP_ERROR_CHECK_WITHOUT_ABORT failed: esp_err_t 0x103 (ESP_ERR_INVALID_STATE) at 0x42008a3c",
    "***ERROR*** A stack overflow in task main has been detected.",
    "Stack smashing protect failure!",
    "Undefined behavior of type out_of_bounds",
    "Mem alloc fail. size 0x00001000 caps 0x00000800",
    "CORRUPT HEAP: multi_heap.c:432 detected at 0x3ffb0000",
    "E (10303) task_wdt: Task watchdog got triggered. The following tasks/users did not reset it:",
    "E (10303) task_wdt: Aborting.",
    "Brownout detector was triggered",
    "E BOD: Brownout detector was triggered",
    "Panic handler entered multiple times. Abort panic handling. Rebooting ...",
    "Re-entered core dump! Exception happened during core dump!",
    "A fatal error occurred. The crash dump printed below may be used to help",
    "invalid header: 0xffffffff",
    "flash read err, 1000",
    "csum err:0x9a!=0x5f",
    "E (30) boot_comm: Image requires chip rev >= v3.0, but chip is v0.4",
    "E (31) spi_flash: Detected size(4096k) smaller than the size in the binary image header(8192k). Probe failed.",
    "E (55) flash_parts: partition 3 invalid - offset 0x1 size 0x2 exceeds flash chip size 0x3",
    "E (69) boot: load partition table error!",
    "E (60) boot: Factory app partition is not bootable",
    "E (60) boot: No bootable app partitions in the partition table",
    "E (60) boot: No bootable test partition in the partition table",
    "[esp32] [ERR] [boot_comm] This chip is revision 1 but the application is configured for minimum revision 3. Can't run.",
    "E: Image in the primary slot is not valid!",
    "E: Unable to find bootable image",
    "[esp32] [ERR] Load header magic verification failed. Aborting",
    "\u{1B}[31m====================== PANIC ======================",
    "!! A panic occured in 'src/main.rs', at line 12, column 5",
    "[ERROR] Exception occurred on ProCpu 'LoadProhibited'",
    "[ProCpu] Exception 'Load access fault (5)' mepc=0x42001e42, mtval=0x00000000",
    "thread 'main' panicked at src/main.rs:45:5:",
    "[00:00:00.010,000] <err> os: >>> ZEPHYR FATAL ERROR 2: Stack overflow on CPU 0",
    "E: >>> ZEPHYR FATAL ERROR 0: CPU exception on CPU 0",
    "[00:00:00.002,000] <err> os:  mcause: 5, Load access fault",
    " ** FATAL EXCEPTION",
    "E: ***** MPU FAULT *****",
    "ASSERTION FAIL [ready] @ WEST_TOPDIR/main.c:12",
    "[00:00:00.011,000] \u{1B}[1;31m<err> os: Halting system\u{1B}[0m",
    "[E][esp32.crash:095]: *** CRASH DETECTED ON PREVIOUS BOOT ***",
    "Fatal exception (28):",
    "Exception (28):",
    "Soft WDT reset",
    "wdt reset",
    "<<<stack<<<",
    "Rebooting...",
    "CPU halted.",
    "Entering gdb stub now.",
    "Setting breakpoint at 0x42008a3c and returning...",
    "ESP-ROM:esp32c3-api1-20210207",
    "Build:Feb  7 2021",
    "ets Jul 29 2019 12:21:46",
  ]

  @Test func `each format has a sample, which no other format matches before it`() throws {
    try #require(Self.samples.count == CrashFormat.all.count)
    for (sample, format) in zip(Self.samples, CrashFormat.all) {
      let found = try #require(CrashFormat.first(in: Array(sample.utf8)), "\(sample)")
      #expect(found.format.text == format.text && found.format.role == format.role, "\(sample)")
      #expect(found.isCertain, "\(sample)")
    }
  }

  @Test func `a panic handler interrupts a line, other texts do not`() {
    for (sample, format) in zip(Self.samples, CrashFormat.all) {
      let found = CrashFormat.first(in: Array("I (5) app: half \(sample)".utf8))
      switch format.place {
      case .handler: #expect(found?.isCertain == false, "\(sample)")
      case .anywhere: #expect(found?.isCertain == true, "\(sample)")
      case .start, .tag: #expect(found == nil, "\(sample)")
      }
    }
  }
}
