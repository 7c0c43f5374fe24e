import Foundation
import Testing

/// The required rigs: NOTIBOT_RIG_REQUIRE, names separated by commas. A missing one fails, instead
/// of being skipped.
@Suite struct RequiredRigs {
  static let names = Set(
    (ProcessInfo.processInfo.environment["NOTIBOT_RIG_REQUIRE"] ?? "")
      .split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })

  @Test(arguments: [".ci/run", "scripts/test"])
  func `the required rigs are known here`(script: String) throws {
    let known: Set<String> = [
      "emulator", "pty", "rfc2217", "rfc2217-peers", "ble", "ble-air", "ble-parity", "qemu", "umockdev",
      "labgrid", "esptool", "node", "h2load",
    ]
    let text = try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../\(script)")
        .standardized, encoding: .utf8)
    let listed = text.matches(of: /NOTIBOT_RIG_REQUIRE[=-]([a-z0-9,-]+)/).flatMap {
      $0.1.split(separator: ",")
    }
    #expect(!listed.isEmpty)
    #expect(Self.names.union(listed.map(String.init)).subtracting(known) == [])
  }
}
