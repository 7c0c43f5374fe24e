import Console
import Foundation
import Glibc
import NotibotHost
import NotibotProtocol
import SerialLink

/// Functions, files and lines of a crash, from the ELF file of the firmware.
///
/// The `addr2line` of a toolchain reads the debug information; it is found in PATH. Where gdb is
/// installed, it unwinds the stack of a RISC-V board, which prints no backtrace of its own.
struct CrashDecoder: Sendable {
  /// A function that was active; innermost first.
  struct Frame: Equatable, Sendable {
    var address: UInt32
    /// If the device printed more than one.
    var core: Int?
    /// As the ELF file has it, and so is `file`; sanitise before printing.
    var function: String
    var file: String
    var line: Int?

    /// "0x4200a2b4 fault at board.c:33"
    var text: String {
      let place = file.isEmpty ? "" : " at \(file)\(line.map { ":\($0)" } ?? "")"
      return "0x" + String(address, radix: 16) + " \(function)\(place)".printable
    }
  }

  /// What to decode.
  enum Question: Sendable {
    case report(MonitorRecord)
    /// Of a line that belongs to no report.
    case addresses([UInt32], at: Instant)
  }

  /// The frames of a report, and a warning if they can be wrong or are missing.
  typealias Decoded = (frames: [Frame], warning: String?)

  /// By the machine of the ELF file: its name, and programs that read it, the best first.
  private static let programs: [UInt16: (machine: String, names: [String])] = [
    243: (
      "RISC-V", ["riscv32-esp-elf-addr2line", "riscv64-unknown-elf-addr2line", "llvm-addr2line"]
    ),
    94: (
      "Xtensa",
      [
        "xtensa-esp-elf-addr2line", "xtensa-esp32-elf-addr2line", "xtensa-esp32s3-elf-addr2line",
        "xtensa-esp32s2-elf-addr2line",
      ]
    ),
  ]
  /// How long decoding takes, at most, with all its programs.
  static let limit = Duration.seconds(20)
  private static let outputLimitBytes = 262_144

  let elf: String
  private let program: String
  private let isRISCV: Bool
  private let debugger: CrashDebugger?
  private let knownHash = KnownHash()

  /// Checks the file and finds the program. Throws `Failure`: 2 for a file of another kind,
  /// 18 without a program.
  init(elf path: String) throws(Failure) {
    elf = path
    let file: FileHandle
    do throws(Failure) {
      file = FileHandle(fileDescriptor: try RegularFile.open(path), closeOnDealloc: true)
    } catch {
      throw Failure(.usage, "cannot read \(path.printable): \(error.message)")
    }
    guard let head = try? file.read(upToCount: 20), head.count == 20,
      head.prefix(5) == Data([0x7F, 0x45, 0x4C, 0x46, 1]),
      let known = Self.programs[UInt16(head[18]) | UInt16(head[19]) << 8]
    else {
      throw Failure(
        .usage, "cannot use \(path.printable): it is not an ELF file for RISC-V or Xtensa",
        remedy: "name the .elf file of the build, not the .bin file")
    }
    guard let found = SearchPath.first(of: known.names) else {
      throw Failure(
        .unfitEnvironment, "cannot decode addresses for \(known.machine): no \(known.names[0]) is in PATH",
        remedy: "activate ESP-IDF (. export.sh), or install another of: "
          + known.names.dropFirst().joined(separator: ", "))
    }
    program = found
    isRISCV = known.machine == "RISC-V"
    debugger = isRISCV ? CrashDebugger() : nil
  }

  /// The frames, and a warning if they can be wrong or are missing. Takes at most 20 s, and ends at
  /// `end`.
  func answer(_ question: Question, until end: ContinuousClock.Instant? = nil) -> Decoded {
    let own = ContinuousClock.now + Self.limit
    let end = end.map { min($0, own) } ?? own
    switch question {
    case .report(let record): return record.content.report.map { frames(of: $0, until: end) } ?? ([], nil)
    case .addresses(let addresses, _):
      return lookUp(addresses.map { Crash.CodeAddress(printed: $0, lookedUp: $0) }, until: end)
    }
  }

  private func frames(of crash: Crash, until end: ContinuousClock.Instant) -> Decoded {
    let parts = crash.parts.filter { !$0.crash.codeAddresses(isRISCV: isRISCV).isEmpty }
    guard !parts.isEmpty else { return ([], nil) }
    if let hash = crash.elfHash, let own = knownHash.value(of: elf), !own.hasPrefix(hash) {
      return (
        [],
        "\(elf.printable) is not the program that crashed: its SHA-256 begins with \(own.prefix(hash.count)), "
          + "the device printed \(hash)"
      )
    }
    var result: Decoded = ([], nil)
    for part in parts {
      var decoded = decode(part.crash, until: end)
      if parts.count > 1 { for index in decoded.frames.indices { decoded.frames[index].core = part.core } }
      result = (result.frames + decoded.frames, result.warning ?? decoded.warning)
    }
    return result
  }

  private func decode(
    _ crash: Crash, until end: ContinuousClock.Instant
  ) -> Decoded {
    let addresses = crash.codeAddresses(isRISCV: isRISCV)
    guard let debugger, let core = crash.riscvCoreFile else { return lookUp(addresses, until: end) }
    do {
      return (try debugger.frames(of: core, in: elf, within: (end - .now) / 2), nil)
    } catch {
      let reason = errorText(error).printable
      let decoded = lookUp(addresses, until: end)
      return (decoded.frames, decoded.warning ?? "no backtrace by \(debugger.name): \(reason)")
    }
  }

  /// Without the stack: the functions at these addresses.
  private func lookUp(
    _ addresses: [Crash.CodeAddress], until end: ContinuousClock.Instant
  ) -> Decoded {
    let lookedUp = addresses.map { "0x" + String($0.lookedUp, radix: 16) }
    let arguments = ["-pfiaC", "-e", elf] + lookedUp
    switch ChildOutput.of(program, arguments, limit: end - .now, Self.outputLimitBytes) {
    case .success(let text): return (Self.frames(in: text, addresses), nil)
    case .failure(let reason): return ([], "\(program.printable): \(reason.message)")
    }
  }

  /// Reads "0x42008a3c: fault at /src/board.c:33" and " (inlined by) main at /src/main.c:9".
  static func frames(in text: String, _ addresses: [Crash.CodeAddress]) -> [Frame] {
    var frames: [Frame] = []
    var remaining = addresses[...]
    for line in text.split(separator: "\n").prefix(256) {
      let inlined = " (inlined by) "
      var rest = line
      if line.hasPrefix(inlined), let last = frames.last {
        rest = line.dropFirst(inlined.count)
        frames.append(frame(rest, last.address))
        continue
      }
      guard let end = line.firstRange(of: ": ")?.upperBound, let address = remaining.popFirst() else {
        continue
      }
      rest = line[end...]
      frames.append(frame(rest, address.printed))
    }
    // Without a symbol there is nothing to say.
    return frames.filter { !$0.function.hasPrefix("??") || !$0.file.isEmpty }
  }

  private static func frame(_ text: Substring, _ address: UInt32) -> Frame {
    guard let at = text.ranges(of: " at ").last else {
      return Frame(address: address, function: String(text.prefix(500)), file: "")
    }
    let function = String(text[..<at.lowerBound].prefix(500))
    let place = text[at.upperBound...].split(separator: " ").first ?? ""
    let colon = place.lastIndex(of: ":") ?? place.endIndex
    let file = place[..<colon]
    guard file != "??" else { return Frame(address: address, function: function, file: "") }
    let line = colon == place.endIndex ? nil : Int(place[place.index(after: colon)...])
    return Frame(
      address: address, function: function, file: String(file.prefix(1000)), line: line)
  }
}
