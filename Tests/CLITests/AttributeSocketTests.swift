import Foundation
import Glibc
import Testing

/// `emulate --att`, and tests over its socket.
@Suite(.inTurn) struct AttributeSocketTests {
  /// Runs `body` with an emulator and the path of its attribute socket.
  private func withAttributes(_ body: (Emulator, _ path: String) async throws -> Void) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("att")
    let emulator = try await Emulator(["--att", "unix:\(path)"], in: directory)
    do {
      try await body(emulator, path)
    } catch {
      await emulator.stop()
      throw error
    }
    await emulator.stop()
    #expect(try directory.names() == [])
  }

  @Test func `the announcement names the socket, which only the owner can use and the emulator removes`()
    async throws
  {
    try await withAttributes { emulator, path in
      #expect(emulator.announcement["att"] == .string("unix:\(path)"))
      var status = stat()
      #expect(lstat(path, &status) == 0)
      #expect(status.st_mode == S_IFSOCK | 0o600)
    }
  }

  @Test func `a second emulator at the same socket is refused and does not affect the first`() async throws {
    try await withAttributes { _, path in
      let second = try await run("emulate", "--att", "unix:\(path)", "--link", path + ".port")
      #expect(second.status == .exited(2))
      #expect(second.errors.contains("another process listens there"))
      #expect(try await run("test", "--att", "unix:\(path)", "--filter", "ATT-11/").status == .exited(0))
    }
  }

  @Test(arguments: [
    ["emulate", "--att", "/tmp/att"], ["test", "--att", "unix:"],
    ["test", "--att", "unix:/x", "--rig", "ble"],
  ])
  func `an invalid socket, or a second device, is a usage error`(arguments: [String]) async throws {
    let ending = try await Program(arguments).ending()
    #expect(ending.status == .exited(2))
    #expect(ending.errors.contains("--att"))
  }

  @Test func `a socket without a listener is noBoard`() async throws {
    let ending = try await run("test", "--att", "unix:/tmp/notibot-nobody-listens-here")
    #expect(ending.status == .exited(10))
    #expect(ending.errors.contains("/tmp/notibot-nobody-listens-here: No such file or directory"))
  }

  @Test func `the suite reports the cases that a connection cannot run`() async throws {
    try await withAttributes { emulator, path in
      let ending = try await run(
        "test", "--att", "unix:\(path)", "--control", emulator.control, "--filter", "ATT-17|NTF-30", "-v")
      #expect(ending.status == .exited(0))
      #expect(ending.output.contains("Skipped, needs session"))
      #expect(!ending.output.contains(" failed") && !ending.output.contains(" errored"))
      #expect(ending.lines.contains { $0.contains("ATT-17/not-before-subscription") && $0.contains("ok") })
    }
  }
}
