import Foundation
import Testing

/// `scripts/dev usb-guest --dmesg`, without a guest.
@Suite(.inTurn) struct GuestLogTests {
  private static let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().appendingPathComponent("../..").standardized.path

  @Test(arguments: [
    ("dmesg", "BUG: soft lockup\n", 125), ("dmesg", "usb 1-1: new device\n", 0),
    ("console", "Kernel panic\n", 125),
  ])
  func `the kernel's log is kept, above all when it shows a fault`(name: String, text: String, code: Int32)
    async throws
  {
    let directory = try TemporaryDirectory()
    _ = try directory.write(text, to: name)
    _ = try directory.write("", to: "qemu")
    if name == "dmesg" { _ = try directory.write("0", to: "rc") }
    let script = """
      import pathlib, sys, types
      from tools.usb.guest import Guest
      out = pathlib.Path(sys.argv[1])
      guest = Guest(types.SimpleNamespace(dmesg=str(out / "kept")))
      guest.process = types.SimpleNamespace(returncode=0)
      sys.exit(guest.verdict(out))
      """
    let ending = try await Program(
      ["PYTHONPATH=\(Self.root)", "python3", "-c", script, directory.path], program: "/usr/bin/env"
    ).ending()
    #expect(ending.status == .exited(code), "\(ending.errors)")
    #expect(try directory.contents(of: "kept") == text)
  }
}
