import Foundation
import Testing

struct ImageInfoTests {
  /// An ESP32-C3 application of two segments, made by Python's struct and hashlib; esptool's
  /// `image-info` accepts it.
  static let image: [UInt8] = {
    let digits = """
      e902022f00c03740ee0000000500000300ffff00000000012000003c000100003254cdab000000000000000000000000
      312e302e300000000000000000000000000000000000000000000000000000006e6f7469626f74000000000000000000
      0000000000000000000000000000000031323a33343a353600000000000000004e6f7620323320323032360000000000
      76352e3300000000000000000000000000000000000000000000000000000000000102030405060708090a0b0c0d0e0f
      101112131415161718191a1b1c1d1e1f0000000000000000000000000000000000000000000000000000000000000000
      000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
      00c03740100000001300000013000000130000001300000000000000000000b2fdb63a2836373cbe954b10eadcbad6ee
      b8f775ef42847cc3030af5a102fd215c
      """.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }()

  private let directory: TemporaryDirectory
  private let file: String

  init() throws {
    directory = try TemporaryDirectory()
    file = directory.file("notibot.bin")
    try write(Self.image, to: "notibot.bin")
  }

  private func write(_ bytes: some Sequence<UInt8>, to name: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: directory.file(name)))
  }

  private func info(_ arguments: String...) async throws -> Program.Ending {
    try await Program(["image", "info"] + arguments).ending()
  }

  @Test func `an image is described as text and as JSON`() async throws {
    let text = try await info(file)
    #expect(text.status == .exited(0))
    #expect(text.errors == "")
    #expect(text.lines.contains("chip              esp32c3"))
    #expect(text.lines.contains("project           notibot"))
    #expect(text.lines.contains("flash             4 MB, DIO"))
    #expect(text.lines.contains("chip revisions    v0.3 and later"))
    #expect(text.lines.contains("segment 1         0x4037C000, 16 bytes"))
    let json = try await info(file, "--json")
    guard case .object(let document) = try JSON(parsing: json.output),
      case .object(let image) = document["image"]
    else {
      Issue.record("no document: \(json.output)")
      return
    }
    #expect(document["schema"] == .string("notibot.image"))
    #expect(image["chip"] == .string("esp32c3"))
    #expect(image["bytes"] == .number(352))
    #expect(
      image["sha256"] == .string("fdb63a2836373cbe954b10eadcbad6eeb8f775ef42847cc3030af5a102fd215c"))
  }

  @Test func `names in an image are exact as JSON, and printable as text`() async throws {
    let name = "\u{1B}[2Jé\u{9B}\u{202E}"
    // The name of the project, in a file whose checksum and hash are left out.
    var image = Self.image
    let old = Array(name.utf8)
    for (index, byte) in old.enumerated() {
      image[319] ^= image[80 + index] ^ byte
      image[80 + index] = byte
    }
    image[23] = 0
    try write(image.prefix(320), to: "hostile.bin")
    let text = try await info(directory.file("hostile.bin"))
    #expect(text.status == .exited(0), "\(text.errors)")
    #expect(!text.output.hasControls && text.output.contains(#"project           \u{1b}[2Jé\u{9b}\u{202e}"#))
    let json = try await info(directory.file("hostile.bin"), "--json")
    #expect(!json.output.hasControls)
    #expect(try JSON(parsing: json.output)["image"]["project"] == .string(name))
  }

  @Test func `each unusable file is refused with its own reason`() async throws {
    try write(Self.image.prefix(300), to: "cut.bin")
    var changed = Self.image
    changed[100] ^= 1
    try write(changed, to: "changed.bin")
    // An ELF file in which the offset of a bootloader begins as an image does.
    var program = [UInt8](repeating: 0, count: 0x2000)
    program.replaceSubrange(0..<4, with: [0x7F, 0x45, 0x4C, 0x46])
    program[0x1000] = 0xE9
    try write(program, to: "program.elf")
    try write([], to: "empty.bin")
    try FileManager.default.createSymbolicLink(atPath: directory.file("link.bin"), withDestinationPath: file)
    for (name, reason) in [
      ("cut.bin", "it is cut off: 300 of 312 bytes"), ("changed.bin", "its checksum is 0xB2, computed 0xB3"),
      ("program.elf", "it is an ELF file"), ("empty.bin", "it is empty"),
      ("link.bin", "it is a symbolic link"),
      (".", "it is a directory"), ("missing.bin", "No such file"),
    ] {
      let ending = try await info(directory.file(name))
      #expect(ending.status == .exited(2), "\(name)")
      #expect(ending.output == "", "\(name)")
      #expect(ending.errorLines.count == 1 && ending.errors.contains(reason), "\(name): \(ending.errors)")
    }
  }

  @Test func `an image for another chip is refused`() async throws {
    #expect(try await info(file, "--chip", "ESP32-C3").status == .exited(0))
    let ending = try await info(file, "--chip", "esp32s3")
    #expect(ending.status == .exited(2))
    #expect(ending.errors.contains("it is for esp32c3, not for esp32s3"))
  }
}
