import Foundation
import Testing

/// `notibot monitor --elf` with a program that was compiled for RISC-V. scripts/test installs the
/// compiler.
@Suite(.inTurn) struct CrashDecodingTests {
  private static let tools = "/usr/bin/riscv64-unknown-elf-"

  private static let source = """
    int depth;
    __attribute__((noinline)) void fault(void)
    {
      *(volatile int *)0 = ++depth;
    }
    void _start(void)
    {
      fault();
      depth = 0;
      for (;;) { }
    }
    """

  /// The ELF file, and the addresses of `fault` and of the return from it.
  private static func build(in directory: TemporaryDirectory) throws -> (elf: String, fault: Int, back: Int) {
    let (source, elf) = (directory.file("crash.c"), directory.file("crash.elf"))
    try Self.source.write(toFile: source, atomically: true, encoding: .utf8)
    _ = try output(
      "gcc", "-march=rv32imc", "-mabi=ilp32", "-g", "-Og", "-nostdlib", "-fno-omit-frame-pointer",
      "-Wl,-Ttext=0x42000000", "-o", elf, source)
    let code = try output("objdump", "-d", elf).split(separator: "\n").map(String.init)
    let fault = try #require(code.firstIndex { $0.hasSuffix("<fault>:") })
    let call = try #require(code.firstIndex { $0.contains("jal") && $0.contains("<fault>") })
    return (elf, try address(code[fault + 1]), try address(code[call + 1]))
  }

  private static func address(_ line: String) throws -> Int {
    try #require(Int(line.prefix { $0 != ":" }.filter { $0 != " " && $0 != "\t" }, radix: 16))
  }

  private static func output(_ tool: String, _ arguments: String...) throws -> String {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(fileURLWithPath: tools + tool)
    process.arguments = arguments
    process.standardOutput = pipe
    try process.run()
    let text = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
    return String(decoding: text, as: UTF8.self)
  }

  private static func panic(_ mepc: Int, _ ra: Int, hash: String? = nil) -> [UInt8] {
    func hex(_ value: Int) -> String { "0x" + String(value, radix: 16) }
    let text = """
      Guru Meditation Error: Core  0 panic'ed (Store access fault). Exception was unhandled.\r
      Core  0 register dump:\r
      MEPC    : \(hex(mepc))  RA      : \(hex(ra))  SP      : 0x3fc8f1e0  GP      : 0x3fc80800\r
      \(hash.map { "ELF file SHA256:  \($0)\r\n" } ?? "")Rebooting...\r

      """
    return Array(text.utf8)
  }

  private func monitor(
    _ elf: String, _ bytes: [UInt8], json: Bool = false, environment: [String: String] = [:]
  ) async throws -> Program.Ending {
    let terminal = try ControlledTerminal()
    let monitor = try Program(
      ["monitor", "-p", terminal.path, "--elf", elf, "--timeout", "600"] + (json ? ["--json"] : []),
      environment: environment)
    _ = try await monitor.errors.line(0)
    terminal.write(bytes)
    return await monitor.ending()
  }

  @Test func `a crash is printed with functions, files and lines`() async throws {
    let directory = try TemporaryDirectory()
    let built = try Self.build(in: directory)
    let ending = try await monitor(built.elf, Self.panic(built.fault, built.back))
    #expect(ending.status == .exited(17))
    let lines = ending.lines.filter { $0.hasPrefix("    0x42") }
    #expect(lines.count == 2)
    #expect(lines.first?.contains(" fault at ") == true && lines.first?.contains("/crash.c:") == true)
    #expect(lines.last?.hasSuffix(" _start at \(directory.file("crash.c")):8") == true, "\(lines)")
  }

  @Test func `an address in an ordinary line is followed by its function`() async throws {
    let directory = try TemporaryDirectory()
    let built = try Self.build(in: directory)
    let fault = "0x" + String(built.fault, radix: 16)
    let text = "I (12) app: \(fault) and 0x40000000, not \(fault)0\r\n"
    let ending = try await monitor(built.elf, Array(text.utf8) + Self.panic(built.fault, built.back))
    let notes = ending.lines.filter { $0.hasPrefix("--- 0x") }
    #expect(notes.count == 1 && notes[0].hasPrefix("--- \(fault) fault at "), "\(ending.output)")
    let document = try await monitor(
      built.elf, Array(text.utf8) + Self.panic(built.fault, built.back), json: true)
    let event = try #require(document.lines.first { $0.contains(#""event":"functions""#) })
    #expect(try JSON(parsing: event)["frames"].elements.map { $0["function"] } == ["fault"])
  }

  @Test func `addresses of many lines at once are all decoded`() async throws {
    let directory = try TemporaryDirectory()
    let built = try Self.build(in: directory)
    let text = (0..<200).map { line in
      "I (12) app: 0x\(String(line < 100 ? built.fault : built.back, radix: 16)) \(line)\r\n"
    }.joined()
    let ending = try await monitor(built.elf, Array(text.utf8) + Self.panic(built.fault, built.back))
    let notes = ending.lines.filter { $0.hasPrefix("--- 0x") }.map { $0.split(separator: " ")[2] }
    // One of the first is decoded alone.
    #expect(Set(notes) == ["fault", "_start"] && notes.count <= 4, "\(notes)")
  }

  @Test func `NDJSON has the frames of a crash`() async throws {
    let directory = try TemporaryDirectory()
    let built = try Self.build(in: directory)
    let ending = try await monitor(built.elf, Self.panic(built.fault, built.back), json: true)
    let crash = try #require(ending.lines.first { $0.contains(#""event":"crash""#) })
    let frames = try JSON(parsing: crash)["frames"].elements
    try #require(frames.count == 2, "\(crash)")
    #expect(frames[0]["function"] == "fault")
    #expect(frames[1]["function"] == "_start")
    #expect(frames[1]["line"] == 8)
  }

  // MARK: Backtraces

  /// Three functions with frames of 16 bytes, each instruction with 4 bytes; a label after each
  /// call.
  private static let frames = """
      .option norvc
      .macro function name
      .globl \\name
      .type \\name, @function
    \\name:
      .cfi_startproc
      addi sp, sp, -16
      .cfi_def_cfa_offset 16
      sw ra, 12(sp)
      .cfi_offset ra, -4
      .endm
      .text
    function inner
      lw zero, 0(zero)
      .cfi_endproc
    function middle
      jal inner
    to_middle:
      nop
      .cfi_endproc
    function outer
      jal middle
    to_outer:
      nop
      .cfi_endproc
    """

  /// The panic of `inner`, which `middle` called, and that `outer`, as ESP-IDF prints it.
  private static func buildBacktrace(in directory: TemporaryDirectory) throws -> (elf: String, panic: [UInt8])
  {
    let (source, elf) = (directory.file("frames.s"), directory.file("frames.elf"))
    try frames.write(toFile: source, atomically: true, encoding: .utf8)
    _ = try output(
      "gcc", "-march=rv32imc", "-mabi=ilp32", "-g", "-nostdlib", "-Wl,-Ttext=0x42000000", "-Wl,-e,outer",
      "-o",
      elf, source)
    var symbols: [Substring: Int] = [:]
    for line in try output("nm", elf).split(separator: "\n") {
      let words = line.split(separator: " ")
      symbols[words[2]] = Int(words[0], radix: 16)
    }
    let (crash, middle, outer) = try (
      #require(symbols["inner"]) + 8, #require(symbols["to_middle"]), #require(symbols["to_outer"])
    )
    func hex(_ value: Int) -> String {
      let digits = String(value, radix: 16)
      return "0x" + String(repeating: "0", count: 8 - digits.count) + digits
    }
    let names = [
      "MEPC", "RA", "SP", "GP", "TP", "T0", "T1", "T2", "S0/FP", "S1", "A0", "A1", "A2", "A3", "A4", "A5",
      "A6",
      "A7", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", "S10", "S11", "T3", "T4", "T5", "T6",
    ]
    let known = ["MEPC": crash, "RA": middle, "SP": 0x3FC8_F1E0]
    let registers = names.map {
      "\($0.padding(toLength: 8, withPad: " ", startingAt: 0)): \(hex(known[$0] ?? 0))  "
    }
    // The return addresses are at the ends of the frames of `inner` and `middle`.
    let stack = [0, 0, 0, middle, 0, 0, 0, outer].map(hex).joined(separator: " ")
    let text = """
      Guru Meditation Error: Core  0 panic'ed (Load access fault). Exception was unhandled.\r
      \r
      Core  0 register dump:\r
      \(stride(from: 0, to: 32, by: 4).map { registers[$0..<$0 + 4].joined() }.joined(separator: "\r\n"))\r
      \r
      Stack memory:\r
      3fc8f1e0: \(stack)\r
      3fc8f200: \(Array(repeating: hex(0), count: 8).joined(separator: " "))\r
      \r
      Rebooting...\r

      """
    return (elf, Array(text.utf8))
  }

  @Test func `the stack in a panic is unwound`() async throws {
    let directory = try TemporaryDirectory()
    let built = try Self.buildBacktrace(in: directory)
    let ending = try await monitor(built.elf, built.panic)
    #expect(ending.status == .exited(17))
    let lines = ending.lines.filter { $0.hasPrefix("    0x42") }
    #expect(lines.map { $0.split(separator: " ")[1] } == ["inner", "middle", "outer"], "\(ending.errors)")
    #expect(lines.allSatisfy { $0.contains(" at \(directory.file("frames.s")):") }, "\(lines)")
  }

  @Test func `a debugger that prints without end is killed, with its children`() async throws {
    let directory = try TemporaryDirectory()
    let built = try Self.buildBacktrace(in: directory)
    let debugger = try await directory.writeProgram(
      "#!/bin/sh\nsleep 1000 &\necho $! >'\(directory.file("child"))'\nyes\n", to: "gdb-multiarch")
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let ending = try await monitor(
      built.elf, built.panic, environment: ["PATH": directory.path + ":" + path])
    #expect(ending.status == .exited(17))
    #expect(ending.errors.contains("no backtrace by \(debugger): it printed more than"), "\(ending.errors)")
    let child = try directory.contents(of: "child").trimmingCharacters(in: .newlines)
    let wait = ["600", "tail", "--pid=\(child)", "-f", "/dev/null"]
    #expect(try await Program(wait, program: "/usr/bin/timeout").ending().status == .exited(0))
  }

  @Test func `a panic with half of its registers is decoded without its stack`() async throws {
    let directory = try TemporaryDirectory()
    let built = try Self.buildBacktrace(in: directory)
    let text = String(decoding: built.panic, as: UTF8.self).replacing("S11     : 0x00000000", with: "")
    let ending = try await monitor(built.elf, Array(text.utf8))
    let lines = ending.lines.filter { $0.hasPrefix("    0x42") }
    #expect(lines.map { $0.split(separator: " ")[1] } == ["inner", "middle"], "\(ending.errors)")
  }

  @Test func `the ELF file of another build is named, and nothing is decoded`() async throws {
    let directory = try TemporaryDirectory()
    let built = try Self.build(in: directory)
    let ending = try await monitor(built.elf, Self.panic(built.fault, built.back, hash: "0123456789abcdef"))
    #expect(ending.errors.contains("is not the program that crashed"))
    #expect(!ending.output.contains(" fault at "))
  }

  @Test func `a hash of zeros is unknown, and two cores are two lists`() async throws {
    let directory = try TemporaryDirectory()
    let built = try Self.build(in: directory)
    func hex(_ value: Int) -> String { "0x" + String(value, radix: 16) + ":0x3fc8f1e0" }
    let text = """
      Guru Meditation Error: Core  0 panic'ed (Interrupt wdt timeout on CPU0). \r
      \r
      Core  0 register dump:\r
      \r
      Backtrace:\(hex(built.fault))\(hex(built.back))\r
      \r
      Core  1 register dump:\r
      \r
      Backtrace: \(hex(built.back))\r
      ELF file SHA256: 0000000000000000\r
      Rebooting...\r

      """
    let ending = try await monitor(built.elf, Array(text.utf8))
    let lines = ending.lines.filter { $0.hasPrefix("    ") }
    #expect(
      lines.map { $0.split(separator: " ").prefix(2).last } == ["0:", "fault", "_start", "1:", "_start"])
  }

  @Test func `what comes behind a crash is not delayed while it is decoded`() async throws {
    let directory = try TemporaryDirectory()
    let built = try Self.buildBacktrace(in: directory)
    let gate = directory.file("gate")
    _ = try await directory.writeProgram(
      "#!/bin/sh\nuntil [ -e '\(gate)' ]; do sleep 0.05; done\n", to: "gdb-multiarch")
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let terminal = try ControlledTerminal()
    let monitor = try Program(
      [
        "monitor", "-p", terminal.path, "--elf", built.elf, "--json", "--no-fail-on-crash", "--until", "over",
        "--timeout", "600",
      ], environment: ["PATH": directory.path + ":" + path])
    _ = try await monitor.errors.line(0)
    terminal.write(built.panic + Array("next\r\n".utf8))
    var index = 0
    while try await !monitor.output.line(index).contains(#""text":"next""#) { index += 1 }
    _ = try directory.write("", to: "gate")
    while try await JSON(parsing: monitor.output.line(index))["event"] != "crash" { index += 1 }
    terminal.write(Array("over\r\n".utf8))
    #expect(await monitor.ending().status == .exited(0))
  }

  @Test(arguments: ["/etc/passwd", "/nowhere.elf", "/bin/true", "/dev/zero"])
  func `what is not an ELF file of a board is refused`(path: String) async throws {
    let ending = try await run("monitor", "-p", "emu:", "--elf", path)
    #expect(ending.status == .exited(2))
    #expect(ending.errors.contains(path))
  }
}
