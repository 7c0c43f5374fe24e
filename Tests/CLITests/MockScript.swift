import Foundation

/// The scripts that mock boards and computers, in `Tests/mocked`.
enum MockScript {
  static func path(_ name: String) -> String {
    URL(fileURLWithPath: #filePath)
      .deletingLastPathComponent().appendingPathComponent("../mocked/\(name)").standardized.path
  }
}
