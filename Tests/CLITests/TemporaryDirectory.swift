import Foundation
import Glibc

/// A directory of its own, removed with this value. Its path is short: a socket's path has at most
/// 107 bytes.
final class TemporaryDirectory: Sendable {
  let path: String

  init() throws {
    var template = Array("/tmp/notibot-cli.XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw SystemError("make a directory in /tmp") }
    path = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes a file and returns its path.
  func write(_ text: String, to name: String) throws -> String {
    try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
    return file(name)
  }

  /// Writes a script that can be run at once, and returns its path.
  ///
  /// Another process writes it: programs that other tests start meanwhile would inherit a
  /// descriptor of this one, and a file that is open for writing cannot be run.
  func writeProgram(_ text: String, to name: String) async throws -> String {
    let write = ["-c", "printf %s \"$1\" >\"$2\" && chmod 755 \"$2\"", "sh", text, file(name)]
    guard try await Program(write, program: "/bin/sh").ending().status == .exited(0) else {
      throw SystemError("write \(name)")
    }
    return file(name)
  }

  func contents(of name: String) throws -> String {
    try String(contentsOfFile: file(name), encoding: .utf8)
  }

  /// The names in it, sorted.
  func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }

  /// Whether the path exists, links not followed.
  func has(_ name: String) -> Bool {
    var status = stat()
    return lstat(file(name), &status) == 0
  }
}
