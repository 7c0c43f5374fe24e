import Foundation
import Glibc
import Testing

/// A command ends, and its reports are written, regardless of device, file, expression or signal.
@Suite(.inTurn) struct EndsTests {
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().appendingPathComponent("../..").standardized.path

  // MARK: Signals

  /// The limit of 2 s is in `scripts/dev signal-loop` on an idle computer: here a slow disk can
  /// delay a command.
  @Test func `every command ends soon after a signal, with its reports written`() async throws {
    let ending = try await Program(
      [
        "\(Self.root)/scripts/dev", "signal-loop", "40", "--jobs", "2", "--json", "--limit", "20",
        "--notibot", Program.notibot,
      ], program: "/usr/bin/env"
    ).ending()
    #expect(ending.status == .exited(0), "\(ending.errors)")
    let report = try JSON(parsing: ending.output)
    #expect(report["findings"] == [] && report["hangs"] == 0)
    #expect(try #require(report["caught"].number) > 0)
  }

  @Test(arguments: [["soak", "--duration", "2h"], ["test", "--rig", "pty"]])
  func `two signals in a row count as one`(command: [String]) async throws {
    let directory = try TemporaryDirectory()
    let port = command[0] == "soak" ? ["-p", "emu:"] : []
    let program = try Program(command + port + ["--junit", directory.file("j.xml")])
    try await program.catches(SIGTERM)
    program.send(SIGTERM)
    program.send(SIGTERM)
    #expect(await program.ending().status == .exited(143))
    #expect(try JUnit(parsing: try directory.contents(of: "j.xml")).errors == 1)
  }

  @Test(arguments: [SIGHUP, SIGQUIT])
  func `a closed terminal ends a command as a request does, and its report is written`(number: Int32)
    async throws
  {
    let directory = try TemporaryDirectory()
    let program = try Program(["soak", "--duration", "2h", "-p", "emu:", "--junit", directory.file("j.xml")])
    try await program.catches(SIGTERM)
    program.send(number)
    #expect(await program.ending().status == .exited(128 + number))
    #expect(try JUnit(parsing: try directory.contents(of: "j.xml")).errors == 1)
  }

  @Test func `a hang-up that is ignored at the start stays ignored`() async throws {
    let program = try Program(
      ["-c", #"trap "" HUP; exec "$0" "$@""#, Program.notibot, "watch", "--json", "-p", "emu:"],
      program: "/bin/sh")
    _ = try await program.output.line(0)
    program.send(SIGHUP)
    program.send(SIGTERM)
    #expect(await program.ending().status == .exited(143))
  }

  @Test func `a command without a reader of its output can be ended, and its report is written`() async throws
  {
    let directory = try TemporaryDirectory()
    let fifo = directory.file("fifo")
    #expect(mkfifo(fifo, 0o600) == 0)
    let reader = try Descriptor.opening(fifo, O_RDONLY | O_NONBLOCK)
    let writer = try Descriptor.opening(fifo, O_WRONLY)
    // Full: the program's output waits for a reader.
    _ = fcntl(writer.number, F_SETFL, O_NONBLOCK)
    writer.write(Array(repeating: 0x20, count: 1 << 20))
    let program = try Program(
      ["test", "--rig", "emulator", "--junit", directory.file("j.xml")], streams: .file(fifo))
    try await program.catches(SIGTERM)
    program.send(SIGTERM)
    #expect(await program.ending().status == .exited(143))
    #expect(try JUnit(parsing: try directory.contents(of: "j.xml")).errors == 1)
    withExtendedLifetime((reader, writer)) {}
  }

  // MARK: Expressions

  @Test(arguments: [
    (["--until", "(a+)+$"], "a"), (["--fail-on", "a.*a.*a.*b$"], "a"), (["--until", "(a|a)*b"], "a"),
  ])
  func `a backtracking expression ends in bounded time`(options: [String], text: String) async throws {
    let terminal = try ControlledTerminal()
    let isUntil = options[0] == "--until"
    let monitor = try Program(
      ["monitor", "-p", terminal.path, "--timeout", "600", isUntil ? "--fail-on" : "--until", "^end$"]
        + options)
    _ = try await monitor.errors.line(0)
    let line = String(repeating: text, count: 4000) + "!\n"
    terminal.write(Array((line + "end\n").utf8))
    let ending = await monitor.ending()
    // It reached the next line, not its timeout.
    #expect(ending.status == .exited(isUntil ? 1 : 0), "\(ending.errors)")
    #expect(ending.output.hasSuffix("end\n"))
  }

  @Test(arguments: [["monitor", "-p", "emu:", "--until"], ["test", "--rig", "emulator", "--filter"]])
  func `an expression that cannot be matched in bounded time is refused`(command: [String]) async throws {
    let ending = try await Program(command + [#"(a)\1"#]).ending()
    #expect(ending.status == .exited(2))
    #expect(ending.errors.contains("back-references are not supported (at character 5)"))
  }

  // MARK: Paths

  @Test(arguments: [
    ["monitor", "-p", "emu:", "--save"], ["test", "--rig", "emulator", "--junit"],
    ["test", "--rig", "emulator", "--json"], ["soak", "-p", "emu:", "--duration", "1h", "--junit"],
  ])
  func `a FIFO without a reader, a directory and a missing folder are reported at once`(command: [String])
    async throws
  {
    let directory = try TemporaryDirectory()
    #expect(mkfifo(directory.file("fifo"), 0o600) == 0)
    for (path, code, words) in [
      (directory.file("fifo"), Int32(18), "a FIFO without a reader; start the reader first"),
      (directory.path, 2, "it is a directory"),
      ("/no/such/place/x", 18, "No such file or directory; create its folder first"),
    ] {
      let ending = try await Program(command + [path]).ending()
      #expect(ending.status == .exited(code))
      #expect(ending.errors.contains("cannot write \(path)") && ending.errors.contains(words))
      #expect(ending.output == "")
    }
  }

  @Test(
    .enabled(if: ReadOnlyFolder.canBeMounted, "no file system can be mounted here"),
    arguments: [
      (["emulate", "--control", "/mnt/x"], 12, "Read-only file system"),
      (["emulate", "--link", "/mnt/x"], 12, "Read-only file system"),
      (["forward", "-p", "emu:", "--outbox", "/mnt/x"], 12, "the file or its file system is read-only"),
      (["test", "--rig", "emulator", "--junit", "/mnt/x"], 18, "Read-only file system"),
    ] as [([String], Int32, String)])
  func `a read-only file system is reported at once`(command: [String], code: Int32, words: String)
    async throws
  {
    let ending = try await ReadOnlyFolder.run(command)
    #expect(ending.status == .exited(code))
    #expect(ending.errors.contains("/mnt/x: \(words)"), "\(ending.errors)")
    #expect(ending.output == "")
  }

  @Test func `a FIFO gets the report, and stays a FIFO`() async throws {
    let directory = try TemporaryDirectory()
    let fifo = directory.file("fifo")
    #expect(mkfifo(fifo, 0o600) == 0)
    let reader = try Descriptor.opening(fifo, O_RDONLY | O_NONBLOCK)
    _ = fcntl(reader.number, F_SETFL, 0)
    let collected = Collected(reading: reader)
    let ending = try await run("test", "--rig", "emulator", "--filter", "^FRM-1/", "--junit", fifo)
    #expect(ending.status == .exited(0))
    #expect(try JUnit(parsing: await collected.all()).cases > 0)
    var status = stat()
    #expect(lstat(fifo, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
  }

  @Test func `a report that cannot be written is written elsewhere, and the verdict is kept`() async throws {
    let temporary = try TemporaryDirectory()
    let program = try Program(
      ["test", "-p", "/dev/no-such-port", "--junit", "/dev/full"], environment: ["TMPDIR": temporary.path])
    let ending = await program.ending()
    #expect(ending.status == .exited(10))
    let name = try #require(try temporary.names().first)
    #expect(ending.errors.contains("cannot write /dev/full: No space left on device; the report is in"))
    #expect(ending.errors.contains(name))
    #expect(try JUnit(parsing: try temporary.contents(of: name)).errors == 1)
  }

  @Test func `two reports do not go to one file`() async throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("r")
    try FileManager.default.createSymbolicLink(
      atPath: directory.file("link"), withDestinationPath: "r")
    for other in [file, directory.file("link")] {
      let ending = try await run("test", "--rig", "emulator", "--junit", file, "--json", other)
      #expect(ending.status == .exited(2))
      #expect(ending.errors.contains("cannot write two reports to the same file"))
    }
  }

  @Test func `a FIFO without a writer is awaited, and a signal ends the wait`() async throws {
    let directory = try TemporaryDirectory()
    let fifo = directory.file("fifo")
    #expect(mkfifo(fifo, 0o600) == 0)
    try await withEmulator("--profile", "quiet") { emulator in
      let program = try Program(["send", "-p", emulator.port, "--file", fifo])
      // It can be opened for writing once there is a reader.
      let writer = try await onThread {
        while true {
          let number = open(fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
          if number >= 0 { return number }
          sched_yield()
        }
      }
      program.send(SIGTERM)
      #expect(await program.ending().status == .exited(143))
      close(writer)
    }
  }

  // MARK: Floods

  @Test(
    arguments: ["text", "lines", "frames"],
    [
      ["count"], ["watch"], ["send", "--app", "a"], ["test"], ["bench"],
      ["reset", "--before", "no-reset", "--into", "loader"],
    ])
  func `a device that floods and never answers is noAnswer in time`(
    kind: String, command: [String]
  ) async throws {
    let ending = try await withFlood(kind) { try await Program(command + ["-p", $0]).ending() }
    #expect(ending.status == .exited(13), "\(ending.errors)")
  }

  @Test(arguments: ["text", "lines", "frames"])
  func `a monitor of such a device ends at its time, and at a signal`(kind: String) async throws {
    try await withFlood(kind) { port in
      let timed = try await run("monitor", "-p", port, "--timeout", "1", streams: .file("/dev/null"))
      #expect(timed.status == .exited(0))
      let monitor = try Program(["monitor", "-p", port], streams: .file("/dev/null"))
      _ = try await monitor.errors.line(0)
      monitor.send(SIGTERM)
      #expect(await monitor.ending().status == .exited(143))
    }
  }

  @Test func `a case ends even if its device sends faster than it is read, and a signal ends the run`()
    async throws
  {
    try await withEmulator("--profile", "quiet") { emulator in
      // The first sessions are those of the program, before the first case.
      try await withFlood("session", ["--port", emulator.port, "--from", "4"]) { port in
        let directory = try TemporaryDirectory()
        let program = try Program([
          "test", "-p", port, "--timeout", "600", "--filter", "^LNK-[23]/", "-v", "--junit",
          directory.file("j.xml"),
        ])
        // The heading and the lines of two cases that send little: the third is interrupted.
        _ = try await program.output.line(4)
        program.send(SIGTERM)
        #expect(await program.ending().status == .exited(143))
        let junit = try JUnit(parsing: try directory.contents(of: "j.xml"))
        #expect(junit.cases >= 3 && junit.errors >= 1)
      }
    }
  }

  @Test func `an endless list of attributes is an error`() async throws {
    try await withEmulator("--profile", "quiet") { emulator in
      let ending = try await withFlood("crawl", ["--port", emulator.port]) {
        try await run("count", "-p", $0)
      }
      #expect(ending.status == .exited(14))
      #expect(ending.errors.contains("the device's list of attributes does not end within 256 requests"))
    }
  }

  // MARK: Commands to a workflow's runner

  @Test(arguments: [
    ["monitor", "--timeout", "600", "--until", "end"], ["watch", "--text"], ["watch", "--text", "--json"],
  ])
  func `no text of a device is a command to the runner`(command: [String]) async throws {
    try await withEmulator("--profile", "quiet") { emulator in
      let program = try Program(command + ["-p", emulator.port], environment: ["GITHUB_ACTIONS": "true"])
      if command[0] == "monitor" {
        _ = try await program.errors.line(0)
      } else {
        _ = try await program.output.line(0)
      }
      let spaces = [
        "", " ", "\u{A0}", "\u{1680}", "\u{2003}", "\u{202F}", "\u{205F}", "\u{3000}", "\u{FEFF}",
      ]
      for space in spaces {
        try await emulator.ask(["command": "log", "text": .string("\(space)::error::x")])
      }
      try await emulator.ask(["command": "log", "text": "a ##[error]x"])
      try await emulator.ask(["command": "log", "text": "end"])
      if command[0] == "watch" {
        var index = 1
        while try await !program.output.line(index).contains("end") { index += 1 }
        program.send(SIGTERM)
      }
      let ending = await program.ending()
      #expect(ending.output.contains("error"))
      for line in ending.lines {
        let rest = line.unicodeScalars.drop { $0.properties.isWhitespace || $0 == "\u{FEFF}" }
        #expect(!rest.starts(with: "::".unicodeScalars), "\(line)")
        #expect(!line.contains("##["), "\(line)")
        if command.contains("--json") { #expect(throws: Never.self) { try JSON(parsing: line) } }
      }
    }
  }

  @Test func `no text of a server is a command to the runner`() async throws {
    let server = try TCPServer(answer: "##[error]taken\r\n\u{3000}::error::x\r\n")
    let ending = try await Program(
      ["count", "-p", "socket://127.0.0.1:\(server.port)"], environment: ["GITHUB_ACTIONS": "true"]
    ).ending()
    #expect(!ending.errors.contains("##[") && !ending.errors.contains("\u{3000}::"))
    server.stop()
  }
}

/// A server that sends a text to each client, and hangs up.
final class TCPServer: Sendable {
  let port: UInt16
  private let listener: Descriptor

  init(answer: String) throws {
    let listener = Descriptor(owning: socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isOpen = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener.number, $0, length) == 0 && listen(listener.number, 8) == 0
          && getsockname(listener.number, $0, &length) == 0
      }
    }
    guard isOpen else { throw SystemError("listen on 127.0.0.1") }
    port = UInt16(bigEndian: address.sin_port)
    self.listener = listener
    Thread.detachNewThread {
      while true {
        let client = accept(listener.number, nil, nil)
        guard client >= 0 else { return }
        let text = Array(answer.utf8)
        _ = write(client, text, text.count)
        shutdown(client, Int32(SHUT_WR))
        close(client)
      }
    }
  }

  /// Ends it.
  func stop() { shutdown(listener.number, Int32(SHUT_RDWR)) }
}
