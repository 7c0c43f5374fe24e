import Foundation
import Testing

/// The real esptool, from the environment that `scripts/dev esptool-matrix --install-only` makes.
enum Esptool {
  static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path

  /// Its path; nil if it is not installed.
  static let path: String? = {
    let pins =
      (try? String(contentsOfFile: root + "/tools/esptool_matrix/requirements.txt", encoding: .utf8)) ?? ""
    guard let version = pins.firstMatch(of: /(?m)^esptool==(\S+)/)?.1 else { return nil }
    let path = "\(root)/.build/esptool/\(version)/bin/esptool"
    return FileManager.default.isExecutableFile(atPath: path) ? path : nil
  }()

  /// Whether tests with it are run: if it is required, they fail instead of being skipped.
  static let isThere =
    path != nil
    || (ProcessInfo.processInfo.environment["NOTIBOT_RIG_REQUIRE"] ?? "")
      .split(separator: ",").contains { $0.trimmingCharacters(in: .whitespaces) == "esptool" }

  static let lack = "esptool is not installed: scripts/dev esptool-matrix --install-only"

  /// Writes images to a folder, as the lines of Python say; `images` is `tools.esptool_matrix`'s.
  static func make(_ lines: String, in directory: TemporaryDirectory) async throws {
    let prologue = """
      import pathlib, sys
      sys.dont_write_bytecode = True
      sys.path.insert(0, \(String(reflecting: root)))
      from tools.esptool_matrix import images
      def put(name, data): pathlib.Path(\(String(reflecting: directory.path)), name).write_bytes(data)

      """
    let ending = try await Program(["-c", prologue + lines], program: "/usr/bin/python3").ending()
    #expect(ending.status == .exited(0), "\(ending.errors)")
  }

  /// The variables that select a program that answers like esptool, and then does what the shell
  /// lines say.
  static func fake(
    _ lines: String, version: String = "5.6.0", in directory: TemporaryDirectory
  ) throws -> [String: String] {
    [
      "NOTIBOT_ESPTOOL": root + "/Tests/mocked/esptool", "FAKE_VERSION": version,
      "FAKE_ESPTOOL": try directory.write(lines, to: "lines"),
    ]
  }
}
