import Glibc
import Testing

@testable import SerialLink

@Suite struct WholeFileTests {
  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func write(_ text: String, to name: String, isNew: Bool = false) -> Failure? {
    do throws(Failure) {
      try WholeFile.write(text.utf8, to: directory.file(name), isNew: isNew)
      return nil
    } catch {
      return error
    }
  }

  private func contents(of name: String) -> String? {
    FileSystem.contents(of: directory.file(name)).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func `a file is created or replaced, and keeps its mode`() throws {
    #expect(write("one", to: "f") == nil)
    chmod(directory.file("f"), 0o640)
    #expect(write("two", to: "f") == nil)
    #expect(contents(of: "f") == "two")
    #expect(FileSystem.status(of: directory.file("f")).map { $0.st_mode & 0o777 } == 0o640)
    #expect(FileSystem.names(in: directory.path) == ["f"])
  }

  @Test func `a link is followed, and stays one`() throws {
    try directory.write("old", to: "real/f")
    try directory.link("link", to: directory.file("real/f"))
    #expect(write("new", to: "link") == nil)
    #expect(contents(of: "real/f") == "new")
    #expect(FileSystem.target(ofLink: directory.file("link")) == directory.file("real/f"))
  }

  @Test func `a link to a file that does not exist yet is followed, too`() throws {
    try directory.link("second", to: "first")
    try directory.link("third", to: directory.file("second"))
    let folder = FileSystem.resolved(directory.path) ?? ""
    #expect(FileSystem.destination(of: directory.file("third")) == "\(folder)/first")
    #expect(write("new", to: "third") == nil)
    #expect(contents(of: "first") == "new")
    #expect(FileSystem.target(ofLink: directory.file("second")) == "first")
  }

  @Test func `a link to itself is not a file`() throws {
    try directory.link("link", to: "link")
    #expect(throws: Failure.self) { try WholeFile.check(directory.file("link")) }
  }

  @Test func `a new file replaces nothing`() {
    #expect(write("one", to: "core", isNew: true) == nil)
    #expect(write("two", to: "core", isNew: true)?.message.hasSuffix("File exists") == true)
    #expect(contents(of: "core") == "one")
    #expect(FileSystem.names(in: directory.path) == ["core"])
  }

  @Test func `an error names the path, leaves the former file and nothing else`() throws {
    try directory.write("old", to: "f")
    let missing = directory.file("missing/f")
    #expect(write("x", to: "missing/f")?.message == "cannot write \(missing): No such file or directory")
    #expect(write("x", to: ".")?.kind == .usage)
    #expect(contents(of: "f") == "old")
    #expect(FileSystem.names(in: directory.path) == ["f"])
  }
}
