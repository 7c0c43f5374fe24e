import Foundation

/// A build of the reference firmware that sends Count with its bytes swapped.
enum BrokenFirmware {
  /// The case of the rule that it breaks.
  static let testCase = "NTF-1/stored-and-counted"

  private static let built = Task {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
      .standardizedFileURL
    let folder = try TemporaryDirectory()
    for part in ["core", "ports"] {
      try FileManager.default.copyItem(
        atPath: root.appendingPathComponent("firmware-fixtures/\(part)").path, toPath: folder.file(part))
    }
    let source = folder.file("core/src/nb_att_find.c")
    let text = try String(contentsOfFile: source, encoding: .utf8)
    let broken = text.replacing(
      "nb_put_u16le(out, (uint16_t)nb_min(", with: "nb_put_u16le(out, 256u * (uint16_t)nb_min(")
    guard broken != text else { throw CocoaError(.fileReadCorruptFile) }
    try broken.write(toFile: source, atomically: false, encoding: .utf8)
    let ending = try await Program(
      ["firmware-library", folder.file("broken.so"), folder.path],
      program: root.appendingPathComponent("scripts/dev").path
    ).ending()
    guard ending.status == .exited(0) else { throw CocoaError(.executableLoad) }
    return folder
  }

  /// The options of `notibot test` that choose it.
  static func rig() async throws -> [String] {
    ["--rig", "firmware", "--firmware", try await built.value.file("broken.so")]
  }
}
