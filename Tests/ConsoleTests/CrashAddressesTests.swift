import Testing

@testable import Console

/// The addresses in the text of a crash.
struct CrashAddressesTests {
  private static func crash(_ lines: String...) -> Crash {
    Crash(.panic, reason: "test", lines: lines.map { Array($0.utf8) })
  }

  private static func plain(_ address: UInt32) -> Crash.CodeAddress {
    Crash.CodeAddress(printed: address, lookedUp: address)
  }

  @Test func `RISC-V: MEPC, and the call before RA`() {
    let crash = Self.crash(
      "Guru Meditation Error: Core  0 panic'ed (Load access fault). Exception was unhandled.",
      "MEPC    : 0x4038021a  RA      : 0x40380204  SP      : 0x3fc8f1e0  GP      : 0x3fc80800  ",
      "Stack memory:", "3fc8f1e0: 0x00000000 0x40380204 0x00000000 0x00000000")
    #expect(
      crash.codeAddresses(isRISCV: true) == [
        Self.plain(0x4038_021A), Crash.CodeAddress(printed: 0x4038_0204, lookedUp: 0x4038_0203),
      ])
  }

  @Test func `Xtensa: the backtrace, which begins with the PC`() {
    let crash = Self.crash(
      "PC      : 0x400d1a2b  PS      : 0x00060630  A0      : 0x800d1b00  A1      : 0x3ffb1f50  ",
      "Backtrace: 0x400d1a2b:0x3ffb1f50 0x400d1afd:0x3ffb1f70 |<-CORRUPTED",
      "ELF file SHA256:  0123456789abcdef")
    #expect(crash.codeAddresses(isRISCV: false) == [Self.plain(0x400D_1A2B), Self.plain(0x400D_1AFD)])
    #expect(crash.elfHash == "0123456789abcdef")
  }

  @Test(arguments: [
    "", "MEPC", "MEPC    :", "MEPC    : 4038021a", "MEPC    : 0x", "RA      : 0x00000000",
    "MEPC    : 0xffffffffff", "Backtrace:", "Backtrace: zz:0x3 0x:0x", "ELF file SHA256: zz", "SHA256:",
  ])
  func `a line without an address has none`(line: String) {
    #expect(Self.crash(line).codeAddresses(isRISCV: true) == [])
    #expect(Self.crash(line).elfHash == nil)
  }

  @Test(arguments: [
    "Backtrace: 0x400d35da:0x3ffbe9d0 0x400d396d:0x3ffbead0 0x400d3a4f:0x3ffbeb10 |<-CORRUPTED",
    "Backtrace:0x400d35da:0x3ffbe9d0 0x400d396d:0x3ffbead0 0x400d3a4f:0x3ffbeb10 ",
    "Backtrace:0x400d35da:0x3ffbe9d00x400d396d:0x3ffbead0 0x400d3a4f:0x3ffbeb10 |<-CONTINUES",
    "Backtrace: 0x400D35DA:0x3FFBE9D00x400D396D:0x3FFBEAD00x400D3A4F:0x3FFBEB10 0x4cut",
  ])
  func `pairs are read with and without blanks`(line: String) {
    let addresses: [UInt32] = [0x400D_35DA, 0x400D_396D, 0x400D_3A4F]
    #expect(Self.crash(line).codeAddresses(isRISCV: false) == addresses.map(Self.plain))
    #expect(
      Self.crash(line).codeAddresses(isRISCV: true).map(\.lookedUp) == [
        0x400D_35DA, 0x400D_396C, 0x400D_3A4E,
      ])
  }

  @Test func `two cores are two stacks`() {
    let crash = Self.crash(
      "Guru Meditation Error: Core  0 panic'ed (Interrupt wdt timeout on CPU0). ", "",
      "Core  0 register dump:", "PC      : 0x400d0001  PS      : 0x00060034", "",
      "Backtrace: 0x400d0001:0x3ffb5e60 0x400d0002:0x3ffb5e80", "", "Core  1 register dump:",
      "PC      : 0x400d1001  PS      : 0x00060034", "",
      "Backtrace: 0x400d1001:0x3ffb6e60 0x400d1002:0x3ffb6e80")
    #expect(crash.parts.map(\.core) == [0, 1])
    let addresses = crash.parts.map { $0.crash.codeAddresses(isRISCV: false).map(\.printed) }
    #expect(addresses == [[0x400D_0001, 0x400D_0002], [0x400D_1001, 0x400D_1002]])
    let watchdog = Self.crash(
      "E (1) task_wdt: Print CPU 0 (current core) backtrace", "Backtrace: 0x400d0001:0x3ffb5e60",
      "E (1) task_wdt: Print CPU 1 backtrace", "Backtrace: 0x400d1001:0x3ffb5e60")
    #expect(watchdog.parts.map(\.core) == [0, 1])
  }

  @Test func `esp-backtrace, ESPHome and Zephyr have forms of their own`() {
    func addresses(_ lines: String...) -> [UInt32] {
      Crash(.panic, reason: "", lines: lines.map { Array($0.utf8) }).codeAddresses(isRISCV: true).map(
        \.lookedUp)
    }
    #expect(
      addresses("Backtrace:", "", "0x42001e42", "[ERROR] 0x4200120a", "", "other") == [
        0x4200_1E42, 0x4200_120A,
      ])
    #expect(
      addresses(
        "[E][esp32.crash:1]:   PC:  0x42001e42  (fault location)",
        "[E][esp32.crash:2]:   BT0: 0x4200120a  (backtrace)"
      ) == [0x4200_1E42, 0x4200_120A])
    #expect(
      addresses("<err> os:      ra: 4200120a", "<err> os:    mepc: 42001e42") == [0x4200_1E42, 0x4200_1209])
  }

  @Test(arguments: ["0000000000000000", "000000000", ""])
  func `a hash of zeros is unknown`(hash: String) {
    #expect(Self.crash("ELF file SHA256: \(hash)").elfHash == nil)
  }

  @Test func `an endless backtrace is cut`() {
    let long = "Backtrace:" + (0..<500).map { " 0x4000\($0 + 1000):0x3ffb0000" }.joined()
    #expect(Self.crash(long).codeAddresses(isRISCV: true).count == Crash.addressesLimit)
  }
}
