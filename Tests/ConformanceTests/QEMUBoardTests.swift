import Conformance
import Foundation
import NotibotProtocol
import SerialLink
import Testing

@testable import Rigs
import SuiteWire

/// Actions on firmware on an emulated CPU other than over its line. `scripts/dev qemu-test` runs
/// the whole suite on it.
@Suite(
  .serialized,
  .enabled(
    if: RequiredRigs.names.contains("qemu") || (try? QEMUSetup(image: nil)) != nil,
    "the rig 'qemu' needs qemu-system-riscv32 and firmware-fixtures/ports/qemu-virt/build"))
struct QEMUBoardTests {
  /// A session with firmware that has just started.
  private func withRig(_ body: (QEMURig, Bench) async throws -> Void) async throws {
    let rig = try await QEMURig.start()
    let anything = try #require(Suite.cases.first)
    do {
      let bench = try await rig.makeBench(for: anything, seed: 1)
      try await bench.probe.open()
      try await body(rig, bench)
      await rig.close()
    } catch {
      await rig.close()
      throw error
    }
  }

  /// The counters of the firmware, by name.
  private func statistics(_ rig: QEMURig) async throws -> [String: Int] {
    let words = try await rig.board.perform("stats").split(separator: " ").dropFirst().map(String.init)
    return Dictionary(
      uniqueKeysWithValues: stride(from: 0, to: words.count - 1, by: 2).map {
        (words[$0], Int(words[$0 + 1]) ?? -1)
      })
  }

  @Test func `a reset changes the boot id, counts boots and reports the reason`() async throws {
    try await withRig { rig, bench in
      let hello = try await bench.restartSession()
      let values = try #require(TLV.parse(hello.payload))
      #expect(values.number(of: 0x0B) == 2)
      #expect(values.number(of: 0x0C) == UInt64(ResetReason.externalPin.rawValue))
      let again = try await bench.restartSession()
      #expect(TLV.parse(again.payload)?.number(of: 0x0A) != values.number(of: 0x0A))
      #expect(TLV.parse(again.payload)?.number(of: 0x0B) == 3)
    }
  }

  @Test func `a reset loses every byte in flight`() async throws {
    try await withRig { rig, bench in
      // So many that the board has not read them all at the reset.
      let pings = (0..<500).flatMap { _ in bench.probe.frame(.ping).bytes }
      let taken = await rig.board.takenBytes
      try await bench.probe.line.write(pings)
      // Bytes queued in this computer's kernel are not lost when a board restarts.
      let deadline = bench.probe.now + Probe.patience
      while await rig.board.takenBytes < taken + UInt64(pings.count), bench.probe.now < deadline {
        _ = try await bench.probe.nextFrame(until: bench.probe.now + .milliseconds(2))
      }
      try await rig.board.reset()
      // A SYN follows whatever is left of them.
      try await bench.probe.open()
      let counted = try await statistics(rig)
      #expect((1...9).contains(counted["frames"] ?? 0))
      #expect(counted["text_bytes"] == 0)
      #expect(counted["malformed"] == 0)
    }
  }

  @Test func `a panic is printed completely, and the next boot reports it`() async throws {
    try await withRig { rig, bench in
      #expect(try await rig.board.perform("0a") == "ok")
      let hello = try await bench.probe.awaitFrame("HELLO after the panic") { $0.kind == .hello }
      #expect(TLV.parse(hello.payload)?.number(of: 0x0C) == UInt64(ResetReason.panic.rawValue))
      let text = String(decoding: bench.probe.textReceived, as: UTF8.self)
      #expect(text.contains("Guru Meditation Error: Core  0 panic'ed (requested by a test)\r\n"))
      #expect(text.contains("Rebooting...\r\n"))
    }
  }

  @Test func `bytes that arrive while a busy board's buffer is full are lost, and counted`() async throws {
    try await withRig { rig, bench in
      // The last bytes of opening the session have also arrived.
      _ = try await bench.probe.fence()
      // After its answer the firmware reads nothing from the line until 20000 bytes have arrived.
      #expect(try await rig.board.perform("busy") == "ok")
      try await bench.probe.line.write(Array(repeating: UInt8(ascii: "x"), count: 20_000))
      // Answered when it has read what is available.
      let counted = try await statistics(rig)
      #expect(counted["lost_bytes"] == 20_000 - 16_384)
      #expect(counted["text_bytes"] == 16_384)
      // The line works as before. On a busy computer the session has ended meanwhile (LNK-53).
      try await bench.probe.open()
    }
  }

  @Test func `no process and no file is left when the rig is closed`() async throws {
    let rig = try await QEMURig.start()
    let path = rig.board.portPath
    let pid = rig.board.pid
    await rig.close()
    #expect(kill(pid, 0) != 0)
    #expect(
      !FileManager.default.fileExists(atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path))
  }

  @Test func `a missing image and an invalid one are reported with a hint`() async throws {
    let missing = await #expect(throws: RigTrouble.self) {
      _ = try await QEMURig.start(image: "/nowhere.elf")
    }
    #expect(missing?.message == "there is no firmware at /nowhere.elf")
    let wrong = await #expect(throws: RigTrouble.self) { _ = try await QEMURig.start(image: "/etc/passwd") }
    #expect(wrong?.message == "/etc/passwd is not an ELF file")
  }
}
