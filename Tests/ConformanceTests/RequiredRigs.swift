import Foundation
import Testing

/// The rigs that must be there: NOTIBOT_RIG_REQUIRE, names with commas between. One that is missing fails, instead of
/// being skipped.
@Suite struct RequiredRigs {
  static let names = Set(
    (ProcessInfo.processInfo.environment["NOTIBOT_RIG_REQUIRE"] ?? "")
      .split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })

  @Test func `the rigs that are demanded are known here`() {
    let known: Set<String> = [
      "emulator", "pty", "rfc2217", "rfc2217-peers", "ble", "ble-parity", "qemu", "umockdev", "labgrid",
    ]
    #expect(Self.names.subtracting(known) == [])
  }
}
