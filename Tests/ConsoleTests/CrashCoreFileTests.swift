import Testing

@testable import Console

/// The core file of a panic. That gdb reads it, CrashDecodingTests checks.
struct CrashCoreFileTests {
  private static let names = [
    "MEPC", "RA", "SP", "GP", "TP", "T0", "T1", "T2", "S0/FP", "S1", "A0", "A1", "A2", "A3", "A4", "A5",
    "A6", "A7", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", "S10", "S11", "T3", "T4", "T5", "T6",
  ]
  private static let registers = names.enumerated().map { "\($1) : 0x\(String(0x100 + $0, radix: 16))" }
  private static let stack = ["3fc8f1e0: 0x00000001 0x00000002", "3fc8f1e8: 0x00000003 0x00000004"]
  /// Headers, note and the bytes from the boundary of 256 bytes to the stack.
  private static let stackOffset = 52 + 64 + 12 + 8 + 204 + 0xE0

  private static func core(_ lines: [String]) -> [UInt8]? {
    Crash(.panic, reason: "test", lines: lines.map { Array($0.utf8) }).riscvCoreFile
  }

  private static func words(_ bytes: [UInt8], at offset: Int, _ count: Int) -> [UInt32] {
    (0..<count).map { index in
      (0..<4).reduce(0) { $0 | UInt32(bytes[offset + 4 * index + $1]) << (8 * UInt32($1)) }
    }
  }

  @Test func `it has all registers in the order of NT_PRSTATUS, and the stack`() throws {
    let core = try #require(Self.core(Self.registers + ["Stack memory:"] + Self.stack))
    #expect(core.starts(with: [0x7F, 0x45, 0x4C, 0x46, 1, 1, 1]))
    #expect(Self.words(core, at: 52 + 64 + 20 + 72, 32) == (0..<32).map { 0x100 + $0 })
    #expect(core.count == Self.stackOffset + 16)
    #expect(Self.words(core, at: Self.stackOffset, 4) == [1, 2, 3, 4])
    // PT_LOAD: offset, address, and its size in the file.
    let load = Self.words(core, at: 52 + 32, 8)
    #expect(load[0] == 1 && load[2] == 0x3FC8_F100 && load[4] == 0xE0 + 16)
    #expect(Int(load[1]) + 0xE0 == Self.stackOffset)
  }

  @Test func `the stack ends at a gap`() throws {
    let lines = Self.registers + Self.stack + ["3fc8f1f8: 0x00000009"]
    #expect(try #require(Self.core(lines)).count == Self.stackOffset + 16)
  }

  @Test(arguments: names)
  func `without one of the registers there is none`(name: String) {
    #expect(Self.core(Self.registers.filter { !$0.hasPrefix("\(name) ") } + Self.stack) == nil)
  }

  @Test(arguments: [
    "", "3fc8f1e0:", "3fc8f1e0: 0x1 zz", "3fc8f1e0: 1", "zzzzzzzz: 0x1", "fc8f1e0: 0x1",
    "3fc8f1e0:" + String(repeating: " 0x1", count: 17), "3fc8f1e0: 0x100000000",
  ])
  func `what is not a line of a stack is left out`(line: String) {
    #expect(Self.core(Self.registers + [line]) == nil)
  }

  @Test func `an address at the end of the memory does not overflow`() throws {
    let core = try #require(Self.core(Self.registers + ["ffffffff: 0x1 0x2", "00000007: 0x3"]))
    #expect(core.suffix(4) == [3, 0, 0, 0])
  }

  @Test func `the first panic counts`() throws {
    let again = Self.registers.map { $0.replacing("0x1", with: "0x2") }
    let core = try #require(Self.core(Self.registers + Self.stack + again))
    #expect(Self.words(core, at: 52 + 64 + 20 + 72, 1) == [0x100])
  }
}
