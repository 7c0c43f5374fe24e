import Foundation
import Testing

/// Commands on the image for ESP32-C3 that is in the repository, on a model of the chip in real
/// time.
@Suite(.inTurn) struct ChipPortTests {
  private static let ports = ["chip:", "chip:?line=usb"]

  @Test(arguments: ports)
  func `a command reaches the image`(port: String) async throws {
    let ending = try await run("count", "-p", port, "--timeout", "600")
    #expect(ending.status == .exited(0), "\(ending.errors)")
    #expect(ending.output == "0\n")
  }

  @Test(arguments: ports)
  func `the modem lines restart it`(port: String) async throws {
    let ending = try await run("reset", "-p", port, "--timeout", "600")
    #expect(ending.status == .exited(0), "\(ending.errors)")
    #expect(ending.output.contains(": restarted; "))
  }

  /// Reads a register that the chip does not have: `li a0, 0x60040000; lw a1, 0(a0); j .`
  @Test func `a program that breaks a rule of the chip is named with its place`() async throws {
    let image: [UInt8] =
      [0xE9, 1, 2, 0, 0, 0, 0x38, 0x40, 0xEE, 0, 0, 0, 5, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0, 0]
      + [0, 0, 0x38, 0x40, 8, 0, 0, 0, 0x37, 5, 4, 0x60, 0x0C, 0x41, 1, 0xA0]
    // The checksum is in the last byte of a block of 16; there is no hash.
    let sum = image[32...].reduce(0xEF, ^)
    let directory = try TemporaryDirectory()
    let path = directory.file("bad.bin")
    try Data(image + [UInt8](repeating: 0, count: 7) + [sum]).write(to: URL(fileURLWithPath: path))
    let ending = try await run("count", "-p", "chip:\(path)", "--timeout", "600")
    #expect(ending.status == .exited(17), "\(ending.errors)")
    #expect(ending.errors.contains("register 0x60040000 is not modelled (pc 0x40380004)"))
  }

  @Test(arguments: ["/etc/passwd", "/nowhere.bin", "/dev/null"])
  func `what is not an image is refused`(path: String) async throws {
    let ending = try await run("count", "-p", "chip:\(path)")
    #expect(ending.status == .exited(18))
    #expect(ending.errorLines.count == 1, "\(ending.errors)")
    #expect(ending.errors.contains(path))
  }
}
