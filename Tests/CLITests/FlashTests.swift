import Foundation
import Glibc
import Testing

/// `flash` with an emulated chip, and the real esptool.
@Suite(.inTurn, .enabled(if: Esptool.isThere, "\(Esptool.lack)"))
struct FlashTests {
  private let directory: TemporaryDirectory

  /// The words that flash a bootloader, a table with two slots, and an application.
  private static let whole = ["boot.bin", "table.bin", "app.bin"]

  init() async throws {
    directory = try TemporaryDirectory()
    try await Esptool.make(
      """
      put("boot.bin", images.boot_loader("esp32c3"))
      put("table.bin", images.partition_table())
      put("app.bin", images.app("esp32c3", version="1.0.1", extra_bytes=70000))
      put("new.bin", images.app("esp32c3", version="1.0.2", extra_bytes=70000))
      put("large.bin", images.app("esp32c3", extra_bytes=1 << 20))
      import hashlib
      of16MB = bytearray(images.boot_loader("esp32c3"))
      of16MB[3] = 0x40
      of16MB[-32:] = hashlib.sha256(of16MB[:-32]).digest()
      put("boot16.bin", bytes(of16MB))
      rows = images.partition(0, 0, 0x10000, 0xFF0000, "factory")
      put("table16.bin", (rows + b"\\xeb\\xeb" + b"\\xff" * 14 + hashlib.md5(rows).digest()).ljust(0xC00, b"\\xff"))
      """, in: directory)
  }

  private func withChip(_ options: String..., body: (Emulator) async throws -> Void) async throws {
    let emulator = try await Emulator(["--flash-file", directory.file("flash")] + options)
    do {
      try await body(emulator)
      await emulator.stop()
    } catch {
      await emulator.stop()
      throw error
    }
  }

  private func program(_ emulator: Emulator, _ arguments: [String], esptool: String? = nil) throws -> Program
  {
    let words = arguments.map { $0.contains(".bin") ? directory.file($0) : $0 }
    return try Program(
      ["flash", "-p", emulator.port] + (words.contains("--timeout") ? words : words + ["--timeout", "600"]),
      environment: [
        "NOTIBOT_ESPTOOL": esptool ?? Esptool.path ?? "/no/esptool",
        "XDG_CACHE_HOME": directory.file("cache"),
      ])
  }

  private func flash(_ emulator: Emulator, _ arguments: String...) async throws -> Program.Ending {
    try await program(emulator, arguments).ending()
  }

  private func content() throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: directory.file("flash")))
  }

  private func expect(
    _ ending: Program.Ending, _ code: Int32, with parts: String...,
    location: SourceLocation = #_sourceLocation
  ) {
    #expect(ending.status == .exited(code), "\(ending.errors)", sourceLocation: location)
    #expect(!ending.output.contains("verified"), "\(ending.output)", sourceLocation: location)
    for part in parts { #expect(ending.errors.contains(part), "\(ending.errors)", sourceLocation: location) }
    #expect(!ending.errors.hasControls, sourceLocation: location)
  }

  @Test func `images are written, verified and started, and next time only what changed`() async throws {
    try await withChip { emulator in
      let first = try await program(emulator, Self.whole + ["--json"]).ending()
      #expect(first.status == .exited(0), "\(first.errors)")
      #expect(first.errorLines.last?.hasPrefix("flash: 100 %") == true)
      let report = try JSON(parsing: first.output)
      #expect(report["outcome"] == "flashed" && report["board"] == "24:6F:28:AA:BB:CC")
      #expect(report["chip"] == "esp32c3" && report["firmware"]["match"] == "build-hash")
      #expect(report["images"].elements.map { $0["result"] } == ["written", "written", "written"])
      let again = try await program(emulator, Self.whole + ["--json"]).ending()
      #expect(
        try JSON(parsing: again.output)["images"].elements.map { $0["result"] } == [
          "present", "present", "present",
        ])
      let changed = try JSON(parsing: try await flash(emulator, "new.bin@0x10000", "--json").output)
      // The sector with the descriptor, and that with the hash at the end.
      #expect(changed["images"].elements.map { $0["writtenBytes"] } == [8192])
      #expect(changed["firmware"]["version"] == "1.0.2" && changed["bootIDAfter"] != changed["bootIDBefore"])
    }
  }

  @Test func `a board that runs the image already is not restarted`() async throws {
    try await withChip { emulator in
      #expect(try await program(emulator, Self.whole).ending().status == .exited(0))
      let boots = try await emulator.statistics()["bootCount"]
      let again = try await flash(
        emulator, "app.bin@0x10000", "--expect-id", "24:6f:28:aa:bb:cc", "--probe-timeout", "60")
      #expect(again.status == .exited(0))
      #expect(again.lines.last == "the board runs it already (build hash); nothing was written")
      #expect(try await emulator.statistics()["bootCount"] == boots)
      #expect(try await flash(emulator, "app.bin@0x10000", "--force").status == .exited(0))
      #expect(try await emulator.statistics()["bootCount"] != boots)
    }
  }

  @Test func `a board that was in its loader runs the application at the end`() async throws {
    let emulator = try await NetworkEmulator([
      "--rfc2217", "127.0.0.1:0", "--flash-file", directory.file("flash"),
    ])
    #expect(try await run("reset", "-p", emulator.port, "--into", "loader").status == .exited(0))
    let words = Self.whole.map(directory.file) + ["--before", "no-reset", "--timeout", "600", "--json"]
    let ending = try await Program(
      ["flash", "-p", emulator.port] + words,
      environment: [
        "NOTIBOT_ESPTOOL": Esptool.path ?? "/no/esptool", "XDG_CACHE_HOME": directory.file("cache"),
      ]
    ).ending()
    #expect(ending.status == .exited(0), "\(ending.errors)")
    #expect(try JSON(parsing: ending.output)["firmware"]["match"] == "build-hash")
    await emulator.stop()
  }

  @Test func `a monitor writes the images by a key, and continues`() async throws {
    try await withChip { emulator in
      #expect(try await program(emulator, Self.whole).ending().status == .exited(0))
      let keyboard = try Descriptor.terminal()
      let image = directory.file("new.bin") + "@0x10000"
      let monitor = try Program(
        ["monitor", "-p", emulator.port, "--flash", image, "--save", directory.file("raw")],
        environment: [
          "NOTIBOT_ESPTOOL": Esptool.path ?? "/no/esptool", "XDG_CACHE_HOME": directory.file("cache"),
          "SWIFT_BACKTRACE": "enable=no",
        ], stdin: keyboard.write)
      _ = try await monitor.errors.line(0)
      try await emulator.ask(["command": "log", "text": "before"])
      #expect(await monitor.output.contains("before\n"))
      keyboard.read.write(Array("\u{14}f".utf8))
      #expect(await monitor.errors.contains("verified; "))
      // The second time: the new run has the port open.
      let isOpen = " is open at "
      while String(decoding: monitor.errors.soFar(), as: UTF8.self).components(separatedBy: isOpen).count < 3
      {
        _ = await monitor.errors.contains(isOpen)
        try await Task.sleep(for: .milliseconds(2))  // poll
      }
      try await emulator.ask(["command": "log", "text": "after"])
      #expect(await monitor.output.contains("after\n"))
      keyboard.read.write([0x1D])
      let ending = await monitor.ending()
      #expect(ending.status == .exited(0), "\(ending.errors)")
      #expect(ending.errors.contains("2 of 18 sectors written"), "\(ending.errors)")
      let saved = try directory.contents(of: "raw")
      #expect(saved.contains("before") && saved.contains("after"))
      keyboard.read.close()
    }
  }

  @Test func `a key without images, and images that do not exist, are reported`() async throws {
    let keyboard = try Descriptor.terminal()
    let terminal = try ControlledTerminal()
    let monitor = try Program(["monitor", "-p", terminal.path], stdin: keyboard.write)
    _ = try await monitor.errors.line(0)
    keyboard.read.write(Array("\u{14}f\u{1D}".utf8))
    let ending = await monitor.ending()
    #expect(ending.status == .exited(0))
    #expect(ending.errors.contains("name the images with --flash"))
    let missing = try await run("monitor", "-p", terminal.path, "--flash", directory.file("none.bin"))
    #expect(missing.status == .exited(2) && missing.errorLines.count == 1, "\(missing.errors)")
  }

  @Test func `a build of ESP-IDF is flashed by its folder, and tested, with one report`() async throws {
    _ = try directory.write(
      """
      {"flash_files": {"0x8000": "table.bin", "0x10000": "app.bin", "0x0": "boot.bin"},
       "flash_settings": {"flash_size": "4MB"}, "extra_esptool_args": {"chip": "esp32c3"}}
      """, to: "flasher_args.json")
    try await withChip { emulator in
      let ending = try await program(
        emulator,
        [
          directory.path, "--then-test", "--filter", "FRM-1/literal-syn", "--junit", directory.file("junit"),
          "--json",
        ]
      ).ending()
      #expect(ending.status == .exited(0), "\(ending.errors)")
      let report = try JSON(parsing: ending.output)
      #expect(report["outcome"] == "flashed" && report["images"].elements.count == 3)
      #expect(report["test"]["totals"]["passed"] == 1)
      #expect(try directory.contents(of: "junit").contains("literal-syn"))
    }
  }

  @Test func `a bootloader for a larger flash is refused, and with detect it gets the size that is there`()
    async throws
  {
    try await withChip { emulator in
      let before = try content()
      expect(
        try await flash(emulator, "boot16.bin", "table.bin", "app.bin"), 2,
        with: "the images need a flash of 16 MB", "has 4 MB: the board would not boot; nothing was written",
        "--force")
      expect(
        try await flash(emulator, "table16.bin"), 2,
        with: "the images need a flash of 16 MB", "has 4 MB", "nothing was written")
      _ = try directory.write(
        """
        {"flash_files": {"0x8000": "table16.bin", "0x10000": "app.bin", "0x0": "boot.bin"},
         "flash_settings": {"flash_size": "detect"}, "extra_esptool_args": {"chip": "esp32c3"}}
        """, to: "flasher_args.json")
      expect(
        try await flash(emulator, directory.path), 2, with: "a flash of 16 MB", "nothing was written")
      #expect(try content() == before)
      _ = try directory.write(
        """
        {"flash_files": {"0x8000": "table.bin", "0x10000": "app.bin", "0x0": "boot16.bin"},
         "flash_settings": {"flash_size": "detect"}, "extra_esptool_args": {"chip": "esp32c3"}}
        """, to: "flasher_args.json")
      let ending = try await flash(emulator, directory.path)
      #expect(ending.status == .exited(0), "\(ending.errors)")
      #expect(try content()[3] == 0x20)
    }
  }

  @Test func `a monitor follows, and restarts the board`() async throws {
    try await withChip { emulator in
      let run = try program(emulator, Self.whole + ["--monitor"])
      #expect(await run.output.contains("verified; "))
      #expect(await run.errors.contains(" is open at "))
      // A pseudo-terminal has no lines for it.
      #expect(await run.errors.contains("no modem lines"))
      run.send(SIGINT)
      #expect(await run.ending().status == .exited(130))
    }
  }

  @Test func `--watch tests each build, and survives one that is missing or half written`() async throws {
    try await withChip { emulator in
      let app = URL(fileURLWithPath: directory.file("app.bin"))
      let old = try Data(contentsOf: app)
      let run = try program(
        emulator, Self.whole + ["--watch", "--then-test", "--quick", "--filter", "^ATT-5/"])
      #expect(await run.errors.contains("waiting for a change of "))
      try old.prefix(5000).write(to: app)
      #expect(await run.errors.contains("it is cut off"))
      try FileManager.default.removeItem(at: app)
      try Data(contentsOf: URL(fileURLWithPath: directory.file("new.bin"))).write(to: app)
      #expect(await run.output.contains("1.0.2"))
      #expect(await run.errors.contains("waiting for a change of ", times: 3))
      run.send(SIGINT)
      let ending = await run.ending()
      #expect(ending.status == .exited(130))
      #expect(ending.output.components(separatedBy: "which does not replace a whole run").count == 3)
    }
  }

  @Test func `another chip, another board and a small flash are refused before anything is written`()
    async throws
  {
    try await withChip("--chip", "esp32s3", "--flash-size", "1MB") { emulator in
      let before = try content()
      expect(
        try await flash(emulator, "app.bin@0x10000"), 2,
        with: "the images are for esp32c3, the chip at \(emulator.port) is ESP32-S3; nothing was written")
      #expect(try content() == before)
    }
    try FileManager.default.removeItem(atPath: directory.file("flash"))
    try await withChip("--flash-size", "1MB") { emulator in
      let before = try content()
      expect(
        try await flash(emulator, "app.bin@0x10000", "--expect-id", "24:6F:28:AA:BB:CD"), 10,
        with: "is 24:6F:28:AA:BB:CC, not 24:6F:28:AA:BB:CD; nothing was written")
      expect(
        try await flash(emulator, "large.bin@0x10000"), 2, with: "do not fit in the flash",
        "nothing was written")
      #expect(try content() == before)
    }
  }

  @Test func `a failed verification and a lost connection are failures, and the next try works`() async throws
  {
    try await withChip("--flash-faults", "md5") { emulator in
      expect(
        try await program(emulator, Self.whole).ending(), 16, with: "MD5 of file does not match",
        "the flash is incomplete")
      try await emulator.ask(["command": "flash-faults", "flashFaults": "silent@1+"])
      expect(
        try await program(emulator, Self.whole).ending(), 14, with: "the connection was lost",
        "the flash is incomplete")
      try await emulator.ask(["command": "flash-faults", "flashFaults": "off"])
      #expect(try await program(emulator, Self.whole).ending().status == .exited(0))
    }
  }

  @Test func `verified images that do not run are a failure`() async throws {
    try await withChip { emulator in
      expect(
        try await program(emulator, ["app.bin@0x10000", "--timeout", "2"]).ending(), 17,
        with: "the images are verified, but no Notibot answers", "there is no bootloader in its flash",
        "invalid header")
      #expect(try await program(emulator, Self.whole).ending().status == .exited(0))
      // Without otadata the bootloader starts the factory's application.
      expect(try await flash(emulator, "new.bin@0x110000"), 16, with: "another firmware answers", "OTA slot")
    }
  }
}

/// `flash` with programs that take the place of esptool.
@Suite(.inTurn) struct FlashEndTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    try Data(ImageInfoTests.image).write(to: URL(fileURLWithPath: directory.file("app.bin")))
  }

  private func start(_ lines: String, at port: String) throws -> Program {
    try Program(
      ["flash", "-p", port, directory.file("app.bin@0x10000")],
      environment: try Esptool.fake(lines, in: directory).merging(["XDG_CACHE_HOME": directory.file("cache")])
      { $1 })
  }

  @Test(arguments: [SIGTERM, SIGINT, SIGKILL])
  func `an ended flash leaves no esptool, and the port is free`(signal: Int32) async throws {
    try await withEmulator { emulator in
      let life = directory.file("life")
      mkfifo(life, 0o600)
      let flash = try start("exec 5>\(directory.file("life")); echo >&5; exec sleep 600", at: emulator.port)
      // Opening a FIFO waits for its writer, which has it open as long as it lives.
      let tool = try await onThread { try #require(FileHandle(forReadingAtPath: life)) }
      #expect(try await onThread { try tool.read(upToCount: 1) } == Data("\n".utf8))
      // The port is locked, although nobody has it open.
      let other = try await run("count", "-p", emulator.port)
      #expect(other.status == .exited(11))
      #expect(other.errors.contains("is that of process \(flash.pid)"), "\(other.errors)")
      flash.send(signal)
      let ending = await flash.ending()
      #expect(ending.status == (signal == SIGKILL ? .killed(signal: SIGKILL) : .exited(128 + signal)))
      #expect(!ending.output.contains("verified"))
      // After SIGKILL, the kernel kills it.
      #expect(try await onThread { try tool.readToEnd() } ?? Data() == Data())
      #expect(try await run("count", "-p", emulator.port).status == .exited(0))
    }
  }

  @Test func `a port with a monitor is busy, and esptool is not asked to open it`() async throws {
    try await withEmulator { emulator in
      let monitor = try Program(["monitor", "-p", emulator.port], input: nil)
      _ = try await monitor.errors.line(0)
      let ending = try await start("touch \(directory.file("used"))", at: emulator.port).ending()
      #expect(ending.status == .exited(11), "\(ending.errors)")
      #expect(ending.errors.contains("in use by process \(monitor.pid)"), "\(ending.errors)")
      #expect(!directory.has("used"))
      let tested = try await Program(
        [
          "flash", "-p", emulator.port, directory.file("app.bin@0x10000"), "--then-test", "--junit",
          directory.file("junit"),
        ],
        environment: try Esptool.fake("exit 2", in: directory)
      ).ending()
      #expect(tested.status == .exited(11))
      #expect(try directory.contents(of: "junit").contains("in use by process \(monitor.pid)"))
      monitor.send(SIGTERM)
      _ = await monitor.ending()
    }
  }

  @Test func `an esptool that is killed, or verifies nothing, is no success`() async throws {
    try await withEmulator { emulator in
      for (lines, code, reason) in [
        ("kill -9 $$", Int32(16), "esptool was killed; nothing was written"),
        (
          "echo 'Flash will be erased from 0x0'; kill -9 $$", 16,
          "esptool was killed; the flash is incomplete"
        ),
        ("exit 0", 16, "esptool verified 0 of 1 images"),
        ("echo 'Hash of data verified'; exit 0", 16, "esptool verified 0 of 1 images"),
        (#"printf '\033[2Jno\n' >&2; exit 2"#, 16, #"\u{1b}[2Jno; nothing was written"#),
        ("yes", 16, "esptool was killed"),
      ] {
        let ending = try await start(lines, at: emulator.port).ending()
        #expect(ending.status == .exited(code), "\(lines): \(ending.errors)")
        #expect(ending.errors.contains(reason), "\(lines): \(ending.errors)")
        #expect(ending.output == "" && !ending.errors.hasControls)
      }
    }
  }
}
