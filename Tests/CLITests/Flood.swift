import Foundation
import Glibc

/// Runs `body` with the port of a device of `tools/loops/flood.py`.
func withFlood<Result>(
  _ kind: String, _ options: [String] = [], body: (String) async throws -> Result
) async throws -> Result {
  let root = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().appendingPathComponent("../..").standardized.path
  let flood = try Program(
    ["python3", "\(root)/tools/loops/flood.py", kind] + options, program: "/usr/bin/env")
  let port = try await flood.output.line(0)
  let result = try await body(port)
  flood.send(SIGKILL)
  _ = await flood.ending()
  return result
}
