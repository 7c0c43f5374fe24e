import Foundation
import SerialLink

/// A new folder that only this user can read. The caller removes it.
struct TemporaryFolder: Sendable {
  let path: String

  /// - Parameter name: the beginning of its name.
  /// - Throws: `Failure` if it cannot be created.
  init(_ name: String) throws {
    // mkdtemp replaces the last six characters.
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("\(name)-XXXXXX").path
    var template = Array(folder.utf8CString)
    let isMade = template.withUnsafeMutableBufferPointer { text in
      text.baseAddress.map { mkdtemp($0) != nil } ?? false
    }
    guard isMade else {
      throw Failure(
        .unfitEnvironment, "cannot create a temporary folder: \(String(cString: strerror(errno)))",
        remedy: "set TMPDIR to a folder that you can write to")
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  func file(_ name: String) -> String { path + "/" + name }

  /// What cannot be removed stays in a folder for temporary files.
  func remove() { try? FileManager.default.removeItem(atPath: path) }
}
