import Testing

/// Commands on the image for ESP32-C3 that is in the repository, on a model of the chip in real
/// time.
@Suite(.inTurn) struct ChipPortTests {
  private static let ports = ["chip:", "chip:?line=usb"]

  @Test(arguments: ports)
  func `a command reaches the image`(port: String) async throws {
    let ending = try await run("count", "-p", port, "--timeout", "60")
    #expect(ending.status == .exited(0), "\(ending.errors)")
    #expect(ending.output == "0\n")
  }

  @Test(arguments: ports)
  func `the modem lines restart it`(port: String) async throws {
    let ending = try await run("reset", "-p", port, "--timeout", "60")
    #expect(ending.status == .exited(0), "\(ending.errors)")
    #expect(ending.output.contains(": restarted; "))
  }

  @Test(arguments: ["/etc/passwd", "/nowhere.bin", "/dev/null"])
  func `what is not an image is refused`(path: String) async throws {
    let ending = try await run("count", "-p", "chip:\(path)")
    #expect(ending.status == .exited(18))
    #expect(ending.errorLines.count == 1, "\(ending.errors)")
    #expect(ending.errors.contains(path))
  }
}
