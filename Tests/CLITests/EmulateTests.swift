import Foundation
import Glibc
import Testing

/// `notibot emulate`: its announcement, and the files that it creates, keeps and removes.
@Suite(.inTurn) struct EmulateTests {
  private func mode(of path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode : nil
  }

  private func target(of link: String) throws -> String {
    try FileManager.default.destinationOfSymbolicLink(atPath: link)
  }

  @Test func `the announcement is one line with everything that a script needs`() async throws {
    let emulator = try await Emulator(["--profile", "tiny", "--seed", "7"])
    let expected: JSON = [
      "port": .string(emulator.port), "control": .string(emulator.control),
      "pid": .number(Double(emulator.program.pid)), "profile": "tiny", "seed": 7, "faults": "off",
    ]
    #expect(emulator.announcement == expected)
    let ending = await emulator.stop()
    #expect(ending.status == .exited(143))
    #expect(ending.lines.count == 1)
    #expect(ending.errors == "notibot: terminated\n")
  }

  @Test func `without --json the port is on stdout and the rest on stderr`() async throws {
    let directory = try TemporaryDirectory()
    let program = try Program(["emulate", "--link", directory.file("port")])
    #expect(try await program.output.line(0) == directory.file("port"))
    #expect(try await program.errors.line(0).contains("emulating 'default'"))
    program.send(SIGINT)
    let ending = await program.ending()
    #expect(ending.status == .exited(130))
    #expect(ending.lines.count == 1)
  }

  @Test func `only the owner can use terminal and socket`() async throws {
    try await withEmulator { emulator in
      #expect(mode(of: emulator.port).map { $0 & S_IFMT } == S_IFLNK)
      let terminal = try target(of: emulator.port)
      #expect(mode(of: terminal).map { $0 & (S_IFMT | 0o777) } == S_IFCHR | 0o600)
      #expect(mode(of: emulator.control).map { $0 & (S_IFMT | 0o777) } == S_IFSOCK | 0o600)
    }
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `a signal removes link, socket and terminal`(signal: Int32) async throws {
    let emulator = try await Emulator()
    let terminal = try target(of: emulator.port)
    #expect(mode(of: terminal) != nil)
    emulator.program.send(signal)
    #expect(await emulator.program.ending().status == .exited(128 + signal))
    #expect(try emulator.directory.names() == [])
  }

  @Test func `with --until-eof the end of standard input ends it with success`() async throws {
    let directory = try TemporaryDirectory()
    let program = try Program(
      ["emulate", "--until-eof", "--link", directory.file("port"), "--control", directory.file("control")],
      input: nil)
    #expect(try await program.output.line(0) == directory.file("port"))
    program.write("what comes from it is ignored\n")
    #expect(try await run("count", "-p", directory.file("port")).lines == ["0"])
    program.closeInput()
    let ending = await program.ending()
    #expect(ending.status == .exited(0), "\(ending.errors)")
    #expect(ending.errorLines.count == 1)
    #expect(try directory.names() == [])
  }

  @Test func `the same seed is the same device`() async throws {
    let first = try await withEmulator("--seed", "7") { try await $0.statistics()["bootID"] }
    let second = try await withEmulator("--seed", "7") { try await $0.statistics()["bootID"] }
    let other = try await withEmulator("--seed", "8") { try await $0.statistics()["bootID"] }
    #expect(first == second)
    #expect(first != other)
  }

  @Test func `hosts come and go, the device stays`() async throws {
    try await withEmulator { emulator async throws in
      for number in 1...3 {
        #expect(try await run("send", "-p", emulator.port, "--app", "a").status == .exited(0))
        #expect(try await run("count", "-p", emulator.port).output == "\(number)\n")
      }
    }
  }

  @Test func `a second emulator on the same link is refused and does not affect the first`() async throws {
    try await withEmulator { emulator in
      let terminal = try target(of: emulator.port)
      let link = try await run("emulate", "--link", emulator.port)
      #expect(link.status == .exited(2))
      #expect(link.output == "" && link.errorLines.count == 1)
      #expect(link.errors.contains("\(emulator.port): it is a link to \(terminal), which is in use"))
      #expect(try target(of: emulator.port) == terminal)
      let socket = try await run(
        "emulate", "--link", emulator.directory.file("b"), "--control", emulator.control)
      #expect(socket.status == .exited(2))
      #expect(socket.errors.contains("\(emulator.control): another process listens there"))
      #expect(try emulator.directory.names() == ["control", "port"])
      #expect(try await run("count", "-p", emulator.port).output == "0\n")
    }
  }

  @Test func `leftovers of a killed emulator are replaced`() async throws {
    let directory = try TemporaryDirectory()
    let killed = try await Emulator(in: directory)
    killed.program.send(SIGKILL)
    #expect(await killed.program.ending().status == .killed(signal: SIGKILL))
    #expect(try directory.names() == ["control", "port"])
    // Another terminal may have got the number meanwhile; then the link would not be replaced.
    try FileManager.default.removeItem(atPath: killed.port)
    try FileManager.default.createSymbolicLink(atPath: killed.port, withDestinationPath: "/dev/pts/none")
    let next = try await Emulator(in: directory)
    #expect(try await run("count", "-p", next.port).output == "0\n")
    await next.stop()
    #expect(try directory.names() == [])
  }

  @Test func `a file at the path of the link is not changed`() async throws {
    let directory = try TemporaryDirectory()
    let file = try directory.write("precious", to: "port")
    let ending = try await run("emulate", "--link", file)
    #expect(ending.status == .exited(2))
    #expect(ending.errors.contains("\(file): it exists and is not a link"))
    #expect(try directory.contents(of: "port") == "precious")
  }

  @Test func `a link to an existing file is neither followed nor replaced`() async throws {
    let directory = try TemporaryDirectory()
    let file = try directory.write("precious", to: "file")
    let link = directory.file("port")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
    #expect(try await run("emulate", "--link", link).status == .exited(2))
    #expect(
      try await run("emulate", "--link", directory.file("other"), "--control", link).status == .exited(2))
    #expect(try target(of: link) == file)
    #expect(try directory.contents(of: "file") == "precious")
    #expect(try directory.names() == ["file", "port"])
  }

  @Test func `a file at the path of the socket is not changed, and no link is left`() async throws {
    let directory = try TemporaryDirectory()
    let file = try directory.write("precious", to: "control")
    let ending = try await run("emulate", "--link", directory.file("port"), "--control", file)
    #expect(ending.status == .exited(2))
    #expect(ending.errorLines.count == 1)
    #expect(ending.errors.contains("\(file): a file that is not a socket is there"))
    #expect(try directory.contents(of: "control") == "precious")
    #expect(try directory.names() == ["control"])
  }

  @Test func `a link that was replaced meanwhile is not removed`() async throws {
    let emulator = try await Emulator()
    try FileManager.default.removeItem(atPath: emulator.port)
    try FileManager.default.createSymbolicLink(atPath: emulator.port, withDestinationPath: "/dev/null")
    await emulator.stop()
    #expect(try target(of: emulator.port) == "/dev/null")
    #expect(try emulator.directory.names() == ["port"])
  }

  @Test func `without --link it creates one in the user's directory`() async throws {
    let directory = try TemporaryDirectory()
    let program = try Program(["emulate", "--json"], environment: ["XDG_RUNTIME_DIR": directory.path])
    let announcement = try JSON(parsing: try await program.output.line(0))
    let link = "\(directory.path)/notibot/emulator-\(program.pid)"
    #expect(announcement["port"] == .string(link))
    #expect(mode(of: "\(directory.path)/notibot").map { $0 & 0o777 } == 0o700)
    #expect(try await run("count", "-p", link).status == .exited(0))
    program.send(SIGTERM)
    _ = await program.ending()
    #expect(mode(of: link) == nil)
  }

  @Test func `an unsafe directory for links is not used`() async throws {
    let directory = try TemporaryDirectory()
    try FileManager.default.createDirectory(
      atPath: directory.file("trap"), withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(
      atPath: directory.file("notibot"), withDestinationPath: directory.file("trap"))
    let ending = try await run("emulate", environment: ["XDG_RUNTIME_DIR": directory.path])
    #expect(ending.status == .exited(2))
    #expect(ending.errors.contains("not a directory that belongs to this user alone"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.file("trap")) == [])
  }

  @Test func `a missing folder is an error that names it`() async throws {
    let ending = try await run("emulate", "--link", "/no/such/place/port")
    #expect(ending.status == .exited(2))
    #expect(ending.errorLines.count == 1)
    #expect(ending.errors.contains("/no/such/place/port: its folder does not exist"))
    let socket = try await run("emulate", "--control", "/no/such/place/socket")
    #expect(socket.status == .exited(2))
    #expect(socket.errors.contains("/no/such/place/socket: its folder does not exist"))
  }
}
