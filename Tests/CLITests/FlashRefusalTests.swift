import Foundation
import Testing

/// `flash` with files that it refuses: before it looks for esptool, and before it opens a port.
@Suite(.inTurn) struct FlashRefusalTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    try put(ImageInfoTests.image, "app.bin")
  }

  private func put(_ bytes: some Sequence<UInt8>, _ name: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: directory.file(name)))
  }

  private func flash(_ arguments: [String], _ environment: [String: String] = [:]) async throws
    -> Program.Ending
  {
    let words = arguments.map { $0.replacingOccurrences(of: "DIR", with: directory.path) }
    return try await Program(
      ["flash", "-p", "/dev/no-such-port", "--no-install"] + words,
      environment: environment.merging(["HOME": directory.path, "XDG_DATA_HOME": "", "XDG_CACHE_HOME": ""]) {
        $1
      }
    ).ending()
  }

  private func expect(
    _ ending: Program.Ending, _ code: Int32, _ reason: String, _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(ending.status == .exited(code), "\(ending.errors)", sourceLocation: location)
    #expect(ending.output == "", sourceLocation: location)
    #expect(ending.errorLines.count == 1, "\(ending.errors)", sourceLocation: location)
    #expect(ending.errors.contains(reason), "\(ending.errors)", sourceLocation: location)
    #expect(!ending.errors.hasControls, sourceLocation: location)
  }

  @Test func `each unusable image is refused with its reason and a remedy`() async throws {
    try put(ImageInfoTests.image.prefix(300), "cut.bin")
    try put([0x7F, 0x45, 0x4C, 0x46] + [UInt8](repeating: 0, count: 60), "app.elf")
    try put("text".utf8, "text\u{1B}.bin")
    try put("# Name, Type, SubType, Offset, Size, Flags\n".utf8, "table.csv")
    var other = Array(ImageInfoTests.image.dropLast(32))
    (other[12], other[23]) = (9, 0)
    try put(other, "s3.bin")
    try FileManager.default.createSymbolicLink(
      atPath: directory.file("link.bin"), withDestinationPath: directory.file("nothing"))
    try FileManager.default.createDirectory(
      atPath: directory.file("folder"), withIntermediateDirectories: false)
    for (arguments, reason) in [
      (["DIR/cut.bin@0"], "it is cut off: 300 of 312 bytes; build or download it again"),
      (["DIR/app.elf@0"], "it is an ELF file, not an image; make an image of it with: esptool elf2image"),
      (["DIR/app.bin@0x10000", "--chip", "esp32"], "it is for esp32c3, not for esp32"),
      (["DIR/app.bin@0x10000", "DIR/s3.bin@0x20000"], "it is for esp32s3, not for esp32c3"),
      (["DIR/link.bin@0"], "it is a symbolic link"),
      (["DIR/nothing.bin@0"], "No such file"),
      (["DIR/folder"], "it is not a build of ESP-IDF: flasher_args.json is missing"),
      (["DIR/folder@0"], "has offsets of its own"),
      (["DIR/app.bin"], "app.bin@0x10000"),
      (["DIR/text\u{1B}.bin"], "it does not begin with 0xE9"),
      (["DIR/app.bin@0x10010"], "cannot begin at 0x10010"),
      (["DIR/app.bin@0x8000000"], "does not fit: it ends at 134218080, the flash has 128 MB"),
      (["DIR/app.bin@0x8000"], "it is an application; it belongs at 0x10000, or write it"),
      (["DIR/app.bin@0x0"], "it is an application; it belongs at 0x10000, or write it"),
      (["DIR/table.csv@0x8000"], "it is the CSV text of a partition table"),
      (["DIR/table.csv"], "convert it with ESP-IDF's gen_esp32part.py"),
      (["DIR/app.bin@0x10000", "DIR/app.bin@0x10000"], "overlap at 0x10000"),
    ] {
      expect(try await flash(arguments), 2, reason)
    }
  }

  @Test func `a build of another project, or a damaged one, is refused`() async throws {
    try FileManager.default.createSymbolicLink(
      atPath: directory.file("away"), withDestinationPath: "/etc")
    for (text, reason) in [
      ("{", "flasher_args.json is not one of ESP-IDF"), (#"{"flash_files":{}}"#, "is not one of ESP-IDF"),
      (#"{"flash_files":{"0x0":"../app.bin"}}"#, "'../app.bin' is not in it"),
      (#"{"flash_files":{"0x0":"/etc/passwd"}}"#, "'/etc/passwd' is not in it"),
      (#"{"flash_files":{"zero":"app.bin"}}"#, "'zero' is not an offset"),
      (
        #"{"flash_files":{"0x0":"app.bin"},"extra_esptool_args":{"chip":"esp32"}}"#,
        "it is for esp32c3, not for esp32"
      ),
      (#"{"flash_files":{"0x0":"app.bin"},"app":{"encrypted":"true"}}"#, "its flash is encrypted"),
      (
        #"{"flash_files":{"0x200000":"app.bin"},"flash_settings":{"flash_size":"2MB"}}"#, "the flash has 2 MB"
      ),
      (
        #"{"flash_files":{"0x0":"app.bin"},"flash_settings":{"flash_size":"2mb"}}"#,
        "'2mb' is not the size of a flash"
      ),
      (#"{"flash_files":{"0x0":"away/passwd"}}"#, "'away/passwd' is not in it"),
      (#"{"flash_files":{"0x0":"missing.bin"}}"#, "No such file"),
    ] {
      _ = try directory.write(text, to: "flasher_args.json")
      expect(try await flash(["DIR"]), 2, reason)
      expect(try await flash(["DIR/flasher_args.json"]), 2, reason)
    }
  }

  @Test func `a size of the flash is one that esptool knows`() async throws {
    func description(_ size: String) -> String {
      #"{"flash_files":{"0x10000":"app.bin"},"flash_settings":{"flash_size":"\#(size)"}}"#
    }
    for size in ["-4MB", "+4MB", "0MB", "banana", "", "4"] {
      _ = try directory.write(description(size), to: "flasher_args.json")
      let reason = "'\(size)' is not the size of a flash; use one such as 4MB"
      expect(try await flash(["DIR", "--dry-run"]), 2, reason)
    }
    for size in ["detect", "keep", "512KB", "4MB", "32MB"] {
      _ = try directory.write(description(size), to: "flasher_args.json")
      let planned = try await flash(["DIR", "--dry-run"])
      #expect(planned.status == .exited(0), "\(size): \(planned.errors)")
    }
  }

  @Test func `a dry run prints the places, and needs neither esptool nor a port`() async throws {
    _ = try directory.write(
      #"{"flash_files":{"0x10000":"app.bin"},"extra_esptool_args":{"chip":"esp32c3"}}"#,
      to: "flasher_args.json")
    let text = try await flash(["DIR", "--dry-run"])
    #expect(text.status == .exited(0) && text.errors == "")
    #expect(text.lines == ["app.bin at 0x10000, 352 bytes", "nothing was written (--dry-run)"])
    let json = try JSON(parsing: try await flash(["DIR/app.bin@65536", "--dry-run", "--json"]).output)
    #expect(json["schema"] == "notibot.flash" && json["outcome"] == "planned" && json["chip"] == "esp32c3")
    #expect(json["images"].elements.map { $0["offset"] } == [65536])
  }

  @Test func `without a usable esptool nothing is opened, and the remedy is named`() async throws {
    expect(
      try await flash(["DIR/app.bin@0x10000"]), 18, "omit --no-install, or choose one with --esptool PATH")
    expect(try await flash(["DIR/app.bin@0x10000", "--esptool", "DIR/app.bin"]), 18, "it is not a program")
    expect(
      try await flash(["DIR/app.bin@0x10000"], ["NOTIBOT_ESPTOOL": "/bin/true"]), 18,
      "/bin/true is not esptool 5")
    let old = try Esptool.fake("", version: "5.0.2", in: directory)
    expect(try await flash(["DIR/app.bin@0x10000"], old), 18, "is esptool 5.0.2, which is too old")
    let fake = try Esptool.fake("", in: directory)
    expect(try await flash(["DIR/app.bin@0x10000"], fake), 10, "/dev/no-such-port: no such port")
    let standIn = try await Program(["flash", "-p", "emu:", directory.file("app.bin@0x10000")]).ending()
    expect(standIn, 2, "emu: has no flash")
  }

  @Test(arguments: [
    ["--expect-id", "24:6F"], ["--chip", "esp9"], ["--timeout", "0"], ["--junit", "x"],
    ["--then-test", "--after", "no-reset"], ["--then-test", "--dry-run"], ["--before", "moon"],
  ])
  func `contradictory options are refused`(options: [String]) async throws {
    #expect(try await flash(["DIR/app.bin@0x10000"] + options).status == .exited(2))
  }
}
