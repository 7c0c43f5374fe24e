import Foundation
import Glibc
import NotibotHost
import SerialLink

/// The functions that were active in a crash, from its registers and stack: gdb unwinds them as in
/// a core file.
struct CrashDebugger: Sendable {
  /// Programs that read core files of RISC-V, the best first.
  private static let names = ["riscv32-esp-elf-gdb", "gdb-multiarch", "riscv64-unknown-elf-gdb"]
  /// Frames, at most: a damaged stack can seem endless.
  private static let framesLimit = 64
  private static let outputLimitBytes = 262_144

  private let program: String

  /// `nil` without such a program in PATH.
  init?() {
    guard let found = SearchPath.first(of: Self.names) else { return nil }
    program = found
  }

  /// The frames, innermost first. Throws `Failure` with the reason if there are none.
  func frames(of core: [UInt8], in elf: String, within limit: Duration) throws -> [CrashDecoder.Frame] {
    let folder = try TemporaryFolder("notibot-core")
    defer { folder.remove() }
    try WholeFile.write(core, to: folder.file("core"))
    // No file of the user or of the build is executed, and nothing is fetched.
    let arguments = [
      "--batch", "-nx", "-iex", "set auto-load no", "-iex", "set debuginfod enabled off", "-ex",
      "interpreter-exec mi2 \"-stack-list-frames 0 \(Self.framesLimit - 1)\"", elf, folder.file("core"),
    ]
    let text = try ChildOutput.of(program, arguments, limit: limit, Self.outputLimitBytes).get()
    let frames = Self.frames(in: text)
    guard !frames.isEmpty else { throw Failure(.unfitEnvironment, "it found no function") }
    return frames
  }

  /// The program's name, printable.
  var name: String { program.printable }

  /// Reads `frame={level="0",addr="0x40380bae",func="fault",file="board.c",line="33"}`; what has no
  /// function is left out. Source: GDB manual, "The -stack-list-frames Command".
  static func frames(in text: String) -> [CrashDecoder.Frame] {
    text.components(separatedBy: "frame={").dropFirst().compactMap { part in
      let values = values(in: part)
      guard let address = values["addr"].flatMap({ UInt32($0.dropFirst(2), radix: 16) }),
        let function = values["func"], function != "??"
      else { return nil }
      return CrashDecoder.Frame(
        address: address, function: String(function.prefix(500)),
        file: String((values["fullname"] ?? values["file"] ?? "").prefix(1000)),
        line: values["line"].flatMap { Int($0) })
    }
  }

  /// `name="value"`, in which a backslash protects the next character.
  private static func values(in text: String) -> [String: String] {
    var values: [String: String] = [:]
    var rest = text[...]
    while let equals = rest.firstIndex(of: "="), rest[rest.index(after: equals)...].first == "\"" {
      let name = String(rest[..<equals].drop { $0 == "," })
      var value = ""
      rest = rest[equals...].dropFirst(2)
      while let character = rest.popFirst(), character != "\"" {
        value.append(character == "\\" ? rest.popFirst() ?? "\\" : character)
      }
      values[name] = value
      if rest.first == "}" { break }
    }
    return values
  }
}
