import Foundation
import Glibc
import Testing

/// An emulator, and a `notibot share` of it.
struct Share {
  let emulator: Emulator
  let program: Program
  let path: String
  var port: String { "share:\(path)" }

  func stop() async -> Program.Ending {
    program.send(SIGTERM)
    return await program.ending()
  }
}

func withShare(_ options: String..., body: (Share) async throws -> Void) async throws {
  try await withEmulator(options) { emulator in
    let path = emulator.directory.file("share")
    let program = try Program(["share", "--json", "-p", emulator.port, "--socket", path])
    #expect(try JSON(parsing: try await program.output.line(0))["socket"] == .string(path))
    let share = Share(emulator: emulator, program: program, path: path)
    do {
      try await body(share)
    } catch {
      _ = await share.stop()
      throw error
    }
    _ = await share.stop()
  }
}
