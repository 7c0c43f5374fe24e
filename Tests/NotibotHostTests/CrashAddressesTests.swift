import Testing

@testable import NotibotHost

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
      crash.codeAddresses == [
        Self.plain(0x4038_021A), Crash.CodeAddress(printed: 0x4038_0204, lookedUp: 0x4038_0203),
      ])
  }

  @Test func `Xtensa: the backtrace, which begins with the PC`() {
    let crash = Self.crash(
      "PC      : 0x400d1a2b  PS      : 0x00060630  A0      : 0x800d1b00  A1      : 0x3ffb1f50  ",
      "Backtrace: 0x400d1a2b:0x3ffb1f50 0x400d1afd:0x3ffb1f70 |<-CORRUPTED",
      "ELF file SHA256:  0123456789abcdef")
    #expect(crash.codeAddresses == [Self.plain(0x400D_1A2B), Self.plain(0x400D_1AFD)])
    #expect(crash.elfHash == "0123456789abcdef")
  }

  @Test(arguments: [
    "", "MEPC", "MEPC    :", "MEPC    : 4038021a", "MEPC    : 0x", "RA      : 0x00000000",
    "MEPC    : 0xffffffffff", "Backtrace:", "Backtrace: zz:0x3 0x:0x", "ELF file SHA256: zz", "SHA256:",
  ])
  func `a line without an address has none`(line: String) {
    #expect(Self.crash(line).codeAddresses == [])
    #expect(Self.crash(line).elfHash == nil)
  }

  @Test func `an endless backtrace is cut`() {
    let long = "Backtrace:" + (0..<500).map { " 0x4000\($0 + 1000):0x3ffb0000" }.joined()
    #expect(Self.crash(long).codeAddresses.count == Crash.addressesLimit)
  }
}
