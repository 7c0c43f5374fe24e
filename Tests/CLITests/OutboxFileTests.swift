import Foundation
import Glibc
import NotibotHost
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

  func close() { _ = umount2(directory.path, Int32(MNT_DETACH)) }
}
