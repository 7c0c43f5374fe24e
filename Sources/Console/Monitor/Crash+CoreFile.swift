import NotibotProtocol

// What a RISC-V panic of ESP-IDF says about registers and stack, as a core file for a debugger: it
// needs no server, unlike gdb's remote protocol, which ESP-IDF's monitor uses.
// Sources: ESP-IDF programming guide, "Fatal Errors"; System V ABI, "Object Files"; the layout of
// NT_PRSTATUS as binutils reads it (bfd/elfnn-riscv.c).
extension Crash {
  /// The names of the registers as ESP-IDF prints them, in the order of NT_PRSTATUS: pc, x1 to x31.
  private static let registerNames = [
    "MEPC", "RA", "SP", "GP", "TP", "T0", "T1", "T2", "S0/FP", "S1", "A0", "A1", "A2", "A3", "A4", "A5",
    "A6", "A7", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", "S10", "S11", "T3", "T4", "T5", "T6",
  ]
  private static let wordsPerLine = 1...16
  /// gdb reads memory in blocks of up to 256 bytes. A block that begins before the stack would be
  /// read from the ELF file, as zeros.
  private static let alignmentBytes: UInt32 = 256
  /// The signal in the file.
  private static let segmentationFault: UInt32 = 11

  /// An ELF core file with all registers and the printed stack; `nil` if the text has not both of
  /// them, as for a crash of Xtensa.
  package var riscvCoreFile: [UInt8]? {
    let texts = lines.map { String(decoding: $0, as: UTF8.self) }
    let values = Self.registers(in: texts)
    let registers = Self.registerNames.compactMap { values[$0] }
    guard registers.count == Self.registerNames.count, let stack = Self.stack(in: texts) else { return nil }
    return Self.coreFile(registers: registers, stack.address, stack.bytes)
  }

  /// "MEPC    : 0x4200a2b4  RA      : 0x4200a2b0"
  private static func registers(in lines: [String]) -> [String: UInt32] {
    var values: [String: UInt32] = [:]
    for line in lines {
      let words = line.split(whereSeparator: \.isWhitespace)
      for start in words.indices.dropLast(2) where words[start + 1] == ":" {
        // The first panic counts, and not one in its handler.
        let name = String(words[start])
        if values[name] == nil { values[name] = word(words[start + 2]) }
      }
    }
    return values
  }

  /// "3fc92f30: 0x3fc92f80 0x4200a2b0", in lines without a gap.
  private static func stack(in lines: [String]) -> (address: UInt32, bytes: [UInt8])? {
    var first: UInt32?
    var bytes: [UInt8] = []
    for line in lines {
      let words = line.split(whereSeparator: \.isWhitespace)
      guard let label = words.first, label.utf8.count == 9, label.last == ":",
        let address = UInt32(label.dropLast(), radix: 16),
        case let values = words.dropFirst().compactMap(word),
        wordsPerLine.contains(values.count),
        values.count == words.count - 1
      else { continue }
      let start = first ?? address
      guard address == start &+ UInt32(bytes.count) else { break }
      first = start
      for value in values { bytes.appendLittleEndian(value) }
    }
    return first.map { ($0, bytes) }
  }

  private static func word(_ text: Substring) -> UInt32? {
    guard text.hasPrefix("0x") else { return nil }
    return UInt32(text.dropFirst(2), radix: 16)
  }

  private static func coreFile(registers: [UInt32], _ address: UInt32, _ stack: [UInt8]) -> [UInt8] {
    let padding = address % alignmentBytes
    let memory = [UInt8](repeating: 0, count: Int(padding)) + stack
    let note = statusNote(registers)
    let headersBytes: UInt32 = 52
    let segmentHeaderBytes: UInt32 = 32
    let noteOffset = headersBytes + 2 * segmentHeaderBytes
    let memoryOffset = noteOffset + UInt32(note.count)
    // 32 bits, little-endian, version 1; a core file for RISC-V.
    var file: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 1, 1, 1] + [UInt8](repeating: 0, count: 9)
    for value: UInt16 in [4, 243] { file.appendLittleEndian(value) }
    for value: UInt32 in [1, 0, headersBytes, 0, 0] { file.appendLittleEndian(value) }
    for value: UInt16 in [UInt16(headersBytes), UInt16(segmentHeaderBytes), 2, 0, 0, 0] {
      file.appendLittleEndian(value)
    }
    // Type, offset, virtual and physical address, size in file and memory, flags, alignment.
    let segments: [[UInt32]] = [
      [4, noteOffset, 0, 0, UInt32(note.count), 0, 0, 4],
      [1, memoryOffset, address - padding, 0, UInt32(memory.count), UInt32(memory.count), 6, 4],
    ]
    for value in segments.joined() { file.appendLittleEndian(value) }
    return file + note + memory
  }

  /// NT_PRSTATUS of 204 bytes: the signal at 12, the thread at 24, the registers at 72.
  private static func statusNote(_ registers: [UInt32]) -> [UInt8] {
    var note: [UInt8] = []
    for value: UInt32 in [5, 204, 1] { note.appendLittleEndian(value) }
    note += Array("CORE".utf8) + [0, 0, 0, 0]
    let start = note.count
    func pad(to offset: Int) { note += [UInt8](repeating: 0, count: start + offset - note.count) }
    pad(to: 12)
    note.appendLittleEndian(segmentationFault)
    pad(to: 24)
    note.appendLittleEndian(UInt32(1))
    pad(to: 72)
    for value in registers { note.appendLittleEndian(value) }
    pad(to: 204)
    return note
  }
}
