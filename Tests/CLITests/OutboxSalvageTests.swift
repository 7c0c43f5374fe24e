import Foundation
import NotibotHost
import NotibotProtocol
import Testing

/// Damaged outboxes on the command line.
@Suite(.inTurn) struct OutboxSalvageTests {
  let directory: TemporaryDirectory
  var file: String { directory.file("outbox") }

  init() throws { directory = try TemporaryDirectory() }

  private func makeOutbox() throws {
    let journal = try Journal(path: file, access: .forwarding)
    var content = DisplayNotification(
      app: "Mail", title: "Jane\u{1B}[2J\nDoe", text: "Hello", timestamp: 1_700_000_000)
    content.details.level = .critical
    content.details.actions = ["Yes", "No"]
    try journal.apply(
      (1...3).map { .put(OutboxEntry(number: OutboxNumber(rawValue: $0), content: content)) })
    journal.close()
  }

  private func contents() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: file)) }

  private func change(_ old: String, to new: String) throws {
    var bytes = try contents()
    let range = try #require(bytes.range(of: Data(old.utf8)))
    bytes.replaceSubrange(range, with: Data(new.utf8))
    try bytes.write(to: URL(fileURLWithPath: file))
  }

  @Test func `a changed character ends every command with 18 and a hint to salvage, and changes nothing`()
    async throws
  {
    try makeOutbox()
    try change("Hello", to: "Hellp")
    let before = try contents()
    for command in [
      ["outbox", "--file", file, "list"], ["outbox", "--file", file, "stats"],
      ["outbox", "--file", file, "retry"], ["outbox", "--file", file, "drop", "1"],
      ["forward", "-p", directory.file("none"), "--outbox", file, "--no-wait"],
    ] {
      let ending = try await Program(command).ending()
      #expect(ending.status == .exited(18), "\(command): \(ending.errors)")
      #expect(ending.output == "")
      #expect(
        ending.errors.contains("is damaged") && ending.errors.contains("notibot outbox salvage \(file)"))
      #expect(try contents() == before, "\(command)")
    }
  }

  @Test func `salvage writes the readable notifications, and forward accepts them`() async throws {
    try makeOutbox()
    try change("Hello", to: "Hellp")
    let before = try contents()
    let ending = try await Program(["outbox", "salvage", file]).ending()
    #expect(ending.status == .exited(18), "\(ending.errors)")
    #expect(ending.lines.count == 2)
    #expect(ending.errors.contains("salvaged 2 of 3 notifications"))
    #expect(ending.errors.contains("notification 3 cannot be read"), "\(ending.errors)")
    #expect(try contents() == before)
    #expect(try directory.names() == ["outbox"])
    let next = try await run(
      "forward", "-p", directory.file("none"), "--outbox", directory.file("next"), "--no-wait", "--json",
      input: ending.output)
    #expect(try next.numbers("queued") == [1, 2], "\(next.errors)")
    let entries = try Journal(path: directory.file("next"), access: .reading).contents().entries
    #expect(entries.map(\.content.title) == Array(repeating: "Jane\u{1B}[2J\nDoe", count: 2))
    #expect(
      entries.allSatisfy {
        $0.content.details.level == .critical && $0.content.details.actions == ["Yes", "No"]
      })
  }

  @Test func `an intact outbox is salvaged with 0`() async throws {
    try makeOutbox()
    let ending = try await Program(["outbox", "salvage", "--file", file]).ending()
    #expect(ending.status == .exited(0))
    #expect(ending.errors == "notibot: salvaged 3 of 3 notifications\n")
    let first = try JSON(parsing: try #require(ending.lines.first))
    #expect(first["outbox"]["number"] == 1 && first["outbox"]["state"] == "queued")
    #expect(first["lvl"] == 3)
  }

  @Test func `a file that is certainly no outbox is refused, and one with a damaged header is salvaged`()
    async throws
  {
    _ = try directory.write(String(repeating: "Dear Jane, ", count: 1000), to: "text")
    for action in ["salvage", "list"] {
      let ending = try await run("outbox", action, "--file", directory.file("text"))
      #expect(ending.status == .exited(2) && ending.output == "", "\(ending.errors)")
      #expect(ending.errors.contains("not an outbox file"), "\(ending.errors)")
    }
    try makeOutbox()
    var bytes = try contents()
    bytes.replaceSubrange(0..<100, with: Data(repeating: 0xFF, count: 100))
    try bytes.write(to: URL(fileURLWithPath: file))
    let ending = try await Program(["outbox", "salvage", file]).ending()
    #expect(ending.lines.count == 3, "\(ending.errors)")
  }

  @Test func `an empty file is refused with a hint`() async throws {
    _ = try directory.write("", to: "outbox")
    let ending = try await Program(
      ["forward", "-p", directory.file("none"), "--outbox", file, "--no-wait"]
    ).ending()
    #expect(ending.status == .exited(18), "\(ending.errors)")
    #expect(ending.errors.contains("it is empty"))
    #expect(try contents().isEmpty)
  }

  @Test(arguments: [["salvage"], ["salvage", "a", "b"], ["salvage", "a", "--file", "b"]])
  func `salvage needs one file`(arguments: [String]) async throws {
    #expect(try await Program(["outbox"] + arguments).ending().status == .exited(2))
  }
}
