import Foundation
import Testing

/// The required rigs: NOTIBOT_RIG_REQUIRE, names separated by commas. A missing one fails, instead
/// of being skipped.
@Suite struct RequiredRigs {
  static let names = Set(
    (ProcessInfo.processInfo.environment["NOTIBOT_RIG_REQUIRE"] ?? "")
      .split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })

  @Test func `the required rigs are known here`() {
    let known: Set<String> = [
      "emulator", "pty", "rfc2217", "rfc2217-peers", "ble", "ble-parity", "qemu", "umockdev", "labgrid",
      "esptool", "node", "h2load",
    ]
    #expect(Self.names.subtracting(known) == [])
  }
}
