import Foundation
import Glibc
import NotibotHost
import NotibotProtocol
import Testing

/// Unusable outbox files: no permission, no space.
@Suite(.inTurn) struct OutboxFileTests {
  @Test(
    .enabled(if: Privilege.canBeGivenUp, "setpriv cannot take the right to open everything from root here"))
  func `an outbox without permission is reported by every command`() async throws {
    let directory = try TemporaryDirectory()
    let outbox = directory.file("outbox")
    try Journal(path: outbox, access: .forwarding).close()
    chmod(outbox, 0)
    for command in [
      ["forward", "-p", directory.file("none"), "--outbox", outbox], ["outbox", "list", "--file", outbox],
      ["outbox", "retry", "--file", outbox],
    ] {
      let ending = try await Privilege.run(command)
      #expect(ending.status == .exited(12), "\(command): \(ending.errors)")
      #expect(ending.errors.contains(outbox) && ending.errors.contains("permission denied"))
      #expect(ending.output == "")
    }
  }

  @Test(.enabled(if: SmallDisk.canBeMounted, "needs the right to mount a small file system"))
  func `on a full disk queued notifications are kept, and the rest is refused`() async throws {
    let disk = try SmallDisk(kilobytes: 256)
    let text = String(repeating: "x", count: 300)
    let lines = (1...2000).map {
      #"{"app":"Messages","title":"\#($0)","text":"\#(text)","timestamp":1234567890}"# + "\n"
    }
    let ending = try await run(
      "forward", "-p", disk.file("none"), "--outbox", disk.file("outbox"), "--no-wait", "--json",
      input: lines.joined())
    #expect(ending.status == .exited(18), "\(ending.errors)")
    #expect(ending.errors.contains("no space left on the disk"), "\(ending.errors)")
    let queued = try ending.numbers("queued")
    #expect(queued.count > 10 && queued.count < 2000)
    let kept = try Journal(path: disk.file("outbox"), access: .reading).contents().entries
    #expect(kept.map { Int($0.number.rawValue) }.starts(with: queued))
    disk.close()
  }

  private func makeEntries(_ numbers: ClosedRange<Int64>, in journal: Journal) throws {
    let content = DisplayNotification(app: "Mail", title: "Jane", text: "", timestamp: 1)
    try journal.apply(
      numbers.map { .put(OutboxEntry(number: OutboxNumber(rawValue: $0), content: content)) })
  }

  @Test func `reading creates no file, and sees what a killed writer has committed`() async throws {
    let directory = try TemporaryDirectory()
    let (live, copy) = (directory.file("outbox"), directory.file("copy"))
    let journal = try Journal(path: live, access: .forwarding)
    try makeEntries(1...3, in: journal)
    // As a killed process leaves them.
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: live + suffix, toPath: copy + suffix)
    }
    journal.close()
    let names = try directory.names()
    #expect(names == ["copy", "copy-wal", "outbox"])
    for path in [live, copy] {
      let ending = try await run("outbox", "list", "--file", path)
      #expect(ending.status == .exited(0) && ending.lines.count == 4, "\(ending.errors)")
      #expect(try await run("outbox", "stats", "--check", "--file", path).status == .exited(0))
    }
    #expect(try directory.names() == names)
  }

  @Test func `each reading while a process commits is a state that was committed`() async throws {
    let directory = try TemporaryDirectory()
    let journal = try Journal(path: directory.file("outbox"), access: .forwarding)
    let writing = Task.detached {
      // Beyond the size at which the log is moved into the file.
      for first in stride(from: Int64(1), to: 6000, by: 3) {
        try self.makeEntries(first...first + 2, in: journal)
      }
    }
    var (last, readings) = (0, 0)
    repeat {
      let ending = try await run("outbox", "stats", "--json", "--file", directory.file("outbox"))
      #expect(ending.status == .exited(0), "\(ending.errors)")
      let count = Int(try JSON(parsing: ending.output)["notifications"].number ?? -1)
      #expect(count >= last && count % 3 == 0)
      (last, readings) = (count, readings + 1)
    } while last < 6000 && readings < 10_000
    try await writing.value
    #expect(last == 6000)
    journal.close()
  }

  @Test(.enabled(if: SmallDisk.canBeMounted, "needs the right to mount a small file system"))
  func `a read-only file system can be read, and is the reason why nothing is written`() async throws {
    let disk = try SmallDisk(kilobytes: 4096)
    let journal = try Journal(path: disk.file("outbox"), access: .forwarding)
    try makeEntries(1...3, in: journal)
    journal.close()
    try disk.makeReadOnly()
    let list = try await run("outbox", "list", "--file", disk.file("outbox"))
    #expect(list.status == .exited(0) && list.lines.count == 4, "\(list.errors)")
    #expect(try await run("outbox", "stats", "--file", disk.file("outbox")).status == .exited(0))
    for command in [["outbox", "retry", "--file"], ["forward", "-p", "/dev/none", "--no-wait", "--outbox"]] {
      let ending = try await Program(command + [disk.file("outbox")]).ending()
      #expect(ending.status == .exited(12) && ending.errors.contains("read-only"), "\(ending.errors)")
    }
    disk.close()
  }

  @Test(
    .enabled(if: Privilege.canBeGivenUp && geteuid() == 0, "needs root, and setpriv"),
    arguments: ["-wal", "-shm"])
  func `a file of another user next to the outbox is named with the remedy`(suffix: String) async throws {
    let directory = try TemporaryDirectory()
    let outbox = directory.file("outbox")
    try Journal(path: outbox, access: .forwarding).close()
    let other = try directory.write("", to: "outbox\(suffix)")
    #expect(chmod(other, 0o644) == 0 && chown(other, 65533, 65533) == 0)
    #expect(try await Privilege.run(["outbox", "list", "--file", outbox]).status == .exited(0))
    let ending = try await Privilege.run(["outbox", "retry", "--file", outbox])
    #expect(ending.status == .exited(12))
    #expect(ending.errors.contains("no permission for its file \(other)"), "\(ending.errors)")
    #expect(ending.errors.contains("chown --reference=\(outbox) \(other)"), "\(ending.errors)")
  }

  @Test(arguments: ["", "-wal", ".lock"])
  func `an outbox whose files are deleted ends forward with 18, and nothing more is queued`(
    suffix: String
  ) async throws {
    let directory = try TemporaryDirectory()
    let outbox = directory.file("outbox")
    let forward = try Program(
      ["forward", "-p", directory.file("none"), "--outbox", outbox, "--json"], input: nil)
    forward.write(Forwarding.line("1") + "\n")
    try await forward.document { $0["result"] == "queued" }
    unlink(outbox + suffix)
    forward.write(Forwarding.line("2") + "\n")
    let ending = await forward.ending()
    #expect(ending.status == .exited(18), "\(ending.errors)")
    #expect(ending.errors.contains("outbox\(suffix) ") && ending.errors.contains("while in use"))
    #expect(try ending.numbers("queued") == [1])
  }

  @Test(arguments: [nil, SIGTERM, SIGINT])
  func `an outbox that is deleted while nothing is committed is noticed at the end`(signal: Int32?)
    async throws
  {
    let directory = try TemporaryDirectory()
    let outbox = directory.file("outbox")
    let forward = try Program(
      ["forward", "-p", directory.file("none"), "--outbox", outbox, "--json", "--no-wait"], input: nil)
    forward.write(Forwarding.line("1") + "\n")
    try await forward.document { $0["result"] == "queued" }
    unlink(outbox)
    if let signal { forward.send(signal) } else { forward.closeInput() }
    let ending = await forward.ending()
    #expect(ending.status == .exited(18), "\(ending.errors)")
  }

  @Test(.enabled(if: SmallDisk.canBeMounted, "needs the right to mount a small file system"))
  func `without inodes the reason is in words`() async throws {
    for count in 2...4 {
      let disk = try SmallDisk(kilobytes: 4096, inodes: count)
      let ending = try await run(
        "forward", "-p", disk.file("none"), "--outbox", disk.file("outbox"), "--no-wait",
        input: Forwarding.line("1") + "\n")
      #expect(ending.status == .exited(18), "\(ending.errors)")
      #expect(ending.errors.contains("inodes left on the disk"), "\(ending.errors)")
      disk.close()
    }
  }
}

/// A small file system, unmounted by `close` or with this value.
private final class SmallDisk: Sendable {
  /// Whether this process can mount one.
  static let canBeMounted: Bool = {
    guard let disk = try? SmallDisk(kilobytes: 64) else { return false }
    disk.close()
    return true
  }()

  private let directory: TemporaryDirectory

  /// - Parameter inodes: that of the folder among them; 0: any number.
  init(kilobytes: Int, inodes: Int = 0) throws {
    directory = try TemporaryDirectory()
    let options = "size=\(kilobytes)k,nr_inodes=\(inodes),mode=700"
    guard mount("none", directory.path, "tmpfs", 0, options) == 0 else {
      throw SystemError("mount a small disk")
    }
  }

  deinit { close() }

  func file(_ name: String) -> String { directory.file(name) }

  func makeReadOnly() throws {
    guard mount("none", directory.path, "tmpfs", UInt(MS_REMOUNT | MS_RDONLY), "") == 0 else {
      throw SystemError("make a disk read-only")
    }
  }

  func close() { _ = umount2(directory.path, Int32(MNT_DETACH)) }
}
