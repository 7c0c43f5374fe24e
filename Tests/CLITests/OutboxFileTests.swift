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

  init(kilobytes: Int) throws {
    directory = try TemporaryDirectory()
    guard mount("none", directory.path, "tmpfs", 0, "size=\(kilobytes)k,mode=700") == 0 else {
      throw SystemError("mount a small disk")
    }
  }

  deinit { close() }

  func file(_ name: String) -> String { directory.file(name) }

  func close() { _ = umount2(directory.path, Int32(MNT_DETACH)) }
}
