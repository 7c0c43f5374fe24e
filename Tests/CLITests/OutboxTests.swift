import Foundation
import Glibc
import NotibotHost
import NotibotProtocol
import Testing

/// `notibot outbox` and `notibot-dev journal`: the outbox file on the command line.
@Suite(.inTurn) struct OutboxTests {
  let directory: TemporaryDirectory
  var file: String { directory.file("outbox") }

  init() throws { directory = try TemporaryDirectory() }

  /// A notification in each state; its title has terminal controls.
  private func makeOutbox() throws {
    func write(_ id: UInt32) -> OutboxWrite { OutboxWrite(id: id, revision: 1, json: Array("{}".utf8)) }
    let states: [OutboxEntry.State] = [
      .queued, .written(write(1)), .held(write(2)), .updating(held: write(3), next: write(3)),
      .removing(id: 4),
      .refused(.notANotification), .refused(.conflict), .written(write(0)),
    ]
    let journal = try Journal(path: file, access: .forwarding, source: 0xC0FFEE)
    var content = DisplayNotification(
      app: "Mail", title: "Jane\u{1B}[2J\nDoe", text: "Hello", timestamp: 1_700_000_000)
    content.details.level = .critical
    var header = try journal.contents().header
    header.lastID = 4
    header.lastNumber = OutboxNumber(rawValue: 8)
    try journal.apply(
      [.header(header)]
        + states.enumerated().map { index, state in
          .put(OutboxEntry(number: OutboxNumber(rawValue: Int64(index + 1)), content: content, state: state))
        })
    journal.close()
  }

  private func states() throws -> [Int64: String] {
    let journal = try Journal(path: file, access: .reading)
    defer { journal.close() }
    return Dictionary(
      uniqueKeysWithValues: try journal.contents().entries.map { ($0.number.rawValue, $0.state.name) })
  }

  private func outbox(_ arguments: String...) async throws -> Program.Ending {
    try await Program(["outbox", "--file", file] + arguments).ending()
  }

  private func expectRefusal(
    _ ending: Program.Ending, _ code: Int32, with parts: String...,
    at location: SourceLocation = #_sourceLocation
  ) {
    #expect(ending.status == .exited(code), sourceLocation: location)
    #expect(ending.output == "", sourceLocation: location)
    #expect(ending.errorLines.count == 1, "\(ending.errors)", sourceLocation: location)
    #expect(!ending.errors.hasControls, sourceLocation: location)
    for part in parts { #expect(ending.errors.contains(part), "\(ending.errors)", sourceLocation: location) }
  }

  // MARK: Reading

  @Test func `list has a printable line for each`() async throws {
    try makeOutbox()
    let ending = try await outbox("list")
    #expect(ending.status == .exited(0))
    #expect(ending.errors == "")
    #expect(ending.lines.count == 9)
    #expect(!ending.output.hasControls)
    #expect(
      ending.lines.first?.split(separator: " ") == [
        "NUMBER", "STATE", "LEVEL", "AGE", "APP", "TITLE", "REASON",
      ])
    #expect(
      ending.lines.contains { $0.contains("6") && $0.contains("refused") && $0.contains("ATT error 0x80") })
    #expect(ending.lines.allSatisfy { $0.contains("critical") || $0.hasPrefix("NUMBER") })
  }

  @Test func `list cuts its longest cells to the width`() async throws {
    let journal = try Journal(path: file, access: .forwarding)
    let content = DisplayNotification(
      app: String(repeating: "a", count: 100), title: String(repeating: "t", count: 4000), text: "",
      timestamp: 1_700_000_000)
    try journal.apply([.put(OutboxEntry(number: OutboxNumber(rawValue: 1), content: content))])
    journal.close()
    func list(_ columns: String?) async throws -> [String] {
      let environment = columns.map { ["COLUMNS": $0] } ?? [:]
      return try await Program(["outbox", "--file", file, "list"], environment: environment).ending().lines
    }
    let lines = try await list("80")
    #expect(lines.count == 2 && lines[1].contains("aaaa…") && lines[1].contains("tttt…"), "\(lines)")
    #expect(lines.allSatisfy { $0.count <= 80 }, "\(lines)")
    #expect(try await list(nil)[1].contains(content.title))
  }

  @Test func `list as JSON has all of each`() async throws {
    try makeOutbox()
    let document = try JSON(parsing: try await outbox("list", "--json").output)
    #expect(document["schema"] == "notibot.outbox.list")
    #expect(document["version"] == 1)
    let items = document["notifications"].elements
    #expect(items.map { $0["number"].number } == [1, 2, 3, 4, 5, 6, 7, 8])
    #expect(items.first?["title"] == "Jane\u{1B}[2J\nDoe")
    #expect(items.first?["timestamp"] == 1_700_000_000)
    #expect(items.first?["id"] == .null)
    #expect(items[2]["id"] == 2)
    #expect(items[5]["attError"] == 0x80)
  }

  @Test func `an empty outbox lists nothing`() async throws {
    try Journal(path: file, access: .forwarding).close()
    let ending = try await outbox("list")
    #expect(ending.status == .exited(0))
    #expect(ending.output == "")
    #expect(ending.errors == "notibot: the outbox is empty\n")
    #expect(try JSON(parsing: try await outbox("list", "--json").output)["notifications"] == .array([]))
  }

  @Test func `stats counts the states and names the writer`() async throws {
    try makeOutbox()
    let document = try JSON(parsing: try await outbox("stats", "--json", "--check").output)
    #expect(document["schema"] == "notibot.outbox.stats")
    #expect(document["states"]["written"] == 2)
    #expect(document["states"]["refused"] == 2)
    #expect(document["notifications"] == 8)
    #expect(document["source"] == 0xC0FFEE)
    #expect(document["lastID"] == 4)
    #expect(document["run"] == 1)
    #expect(document["isChecked"] == .bool(true))
    #expect((document["sizeBytes"].number ?? 0) > 4096)
    let text = try await outbox("stats").output
    #expect(text.contains("source              0xc0ffee\n"))
    #expect(text.contains("agreed in boot      none yet\n"))
    #expect(document["agreedBootID"] == document["nothing"])
  }

  @Test func `stats names the boots, and agrees with the journal`() async throws {
    try await withForwarding { forwarding in
      #expect(try await forwarding.run(input: Forwarding.line("1") + "\n").status == .exited(0))
      let ending = try await run("outbox", "stats", "--file", forwarding.outbox, "--json")
      let document = try JSON(parsing: ending.output)
      let header = try Journal(path: forwarding.outbox, access: .reading).contents().header
      let bootID = try #require(header.bootID)
      #expect(document["agreedBootID"] == .number(Double(bootID)))
      #expect(document["writtenBootID"] == .number(Double(bootID)))
    }
  }

  // MARK: Changing

  @Test func `retry queues all refused notifications, or the given numbers`() async throws {
    try makeOutbox()
    let one = try await outbox("retry", "7", "--json")
    #expect(try JSON(parsing: one.output)["queued"] == .array([7]))
    #expect(try states()[7] == "queued" && states()[6] == "refused")
    #expect(try await outbox("retry").output == "queued again: 6\n")
    #expect(try states()[6] == "queued")
    #expect(try await outbox("retry").output == "nothing to do\n")
    expectRefusal(try await outbox("retry", "3"), 2, with: "notification 3 is held, not refused")
  }

  @Test func `drop deletes queued notifications, and removes others from the device`() async throws {
    try makeOutbox()
    let ending = try await outbox("drop", "8", "7", "5", "4", "3", "2", "1", "1")
    #expect(ending.status == .exited(0))
    #expect(
      ending.output == "dropped: 1 7 8\nto be removed from the device by the next 'forward': 2 3 4 5\n")
    #expect(
      try states() == [2: "removing", 3: "removing", 4: "removing", 5: "removing", 6: "refused"])
  }

  @Test func `drop --forget deletes at once`() async throws {
    try makeOutbox()
    #expect(try await outbox("drop", "--forget", "3", "5").output == "dropped: 3 5\n")
    #expect(try states().keys.sorted() == [1, 2, 4, 6, 7, 8])
  }

  @Test func `an unknown number changes nothing at all`() async throws {
    try makeOutbox()
    expectRefusal(
      try await outbox("drop", "1", "99"), 2, with: "no notification 99", "nothing was changed",
      "notibot outbox --file FILE list"
    )
    #expect(try states().count == 8)
  }

  // MARK: Refusals

  @Test(arguments: ["list", "stats", "retry"])
  func `a missing outbox is not created`(action: String) async throws {
    expectRefusal(try await outbox(action), 2, with: file, "no such file", "check the path")
    #expect(try directory.names() == [])
  }

  @Test func `a file other than an outbox is not changed`() async throws {
    _ = try directory.write("Dear Jane", to: "outbox")
    expectRefusal(try await outbox("retry"), 2, with: file, "not an outbox")
    #expect(try directory.contents(of: "outbox") == "Dear Jane")
    #expect(try directory.names() == ["outbox"])
  }

  @Test func `while a process forwards it can be read, not changed, and the holder is named`() async throws {
    try makeOutbox()
    let journal = try Journal(path: file, access: .forwarding)
    defer { journal.close() }
    #expect(try await outbox("list").lines.count == 9)
    for action in ["retry", "drop"] {
      expectRefusal(
        try await outbox(action, "6"), 11, with: file, "in use by process \(getpid())",
        "stop process \(getpid())")
    }
    #expect(try states()[6] == "refused")
  }

  @Test(
    .enabled(if: Privilege.canBeGivenUp, "setpriv cannot take the right to open everything from root here"))
  func `a missing permission is reported`() async throws {
    try makeOutbox()
    chmod(file, 0o400)
    expectRefusal(
      try await Privilege.run(["outbox", "--file", file, "retry"]), 12, with: file, "permission denied")
    #expect(try await Privilege.run(["outbox", "--file", file, "list"]).lines.count == 9)
    chmod(file, 0)
    expectRefusal(
      try await Privilege.run(["outbox", "--file", file, "list"]), 12, with: file, "permission denied")
    chmod(file, 0o600)
    chmod(directory.path, 0o500)
    defer { chmod(directory.path, 0o700) }
    expectRefusal(
      try await Privilege.run(["outbox", "--file", file, "retry"]), 12, with: file, "permission denied",
      "folder")
  }

  @Test(arguments: [
    ["list"], ["--file", "f"], ["--file", "f", "burn"], ["--file", "f", "list", "1"],
    ["--file", "f", "drop"],
    ["--file", "f", "drop", "x"], ["--file", "f", "list", "--check"], ["--file", "f", "retry", "--forget"],
  ])
  func `a usage error ends with 2`(arguments: [String]) async throws {
    let ending = try await Program(["outbox"] + arguments).ending()
    #expect(ending.status == .exited(2))
    #expect(ending.output == "")
    #expect(!ending.errorLines.isEmpty)
  }

  // MARK: The bench

  private func bench(_ arguments: String...) async throws -> Program.Ending {
    try await Program(["journal"] + arguments, program: Program.dev).ending()
  }

  @Test func `the bench measures three sizes of batch, and leaves nothing behind`() async throws {
    let ending = try await bench(file, "--count", "32", "--json")
    #expect(ending.status == .exited(0), "\(ending.errors)")
    let document = try JSON(parsing: ending.output)
    #expect(document["schema"] == "notibot.bench.journal")
    let rows = document["batches"].elements
    #expect(rows.map { $0["batchSize"].number } == [1, 16, 256])
    #expect(rows.map { $0["commits"].number } == [128, 8, 4])
    #expect(rows.allSatisfy { ($0["syncs"].number ?? 0) >= ($0["commits"].number ?? 1) })
    #expect(rows.allSatisfy { ($0["microsecondsPerNotification"].number ?? 0) > 0 })
    #expect(try directory.names() == [])
  }

  @Test func `the bench does not touch an existing file`() async throws {
    try makeOutbox()
    expectRefusal(try await bench(file), 2, with: file, "exists")
    #expect(try states().count == 8)
  }

  @Test func `the bench in a missing folder is refused`() async throws {
    let path = directory.file("no/outbox")
    expectRefusal(try await bench(path), 2, with: path, "its folder does not exist")
  }
}
