import CSimulatedDisk
import Glibc
import NotibotHost
import NotibotProtocol
import Synchronization

/// A journal on a disk in memory that can crash, fill up and be replaced.
final class SimulatedJournal {
  private static let disksCount = Atomic<UInt64>(0)

  private let disk: UInt64
  private let seed: UInt64
  /// The writer's identity in a newly created journal.
  private var random: SeededGenerator
  private var journal: Journal?
  private(set) var crashes = 0
  private(set) var commits = 0

  init(seed: UInt64) {
    disk = Self.disksCount.wrappingAdd(1, ordering: .relaxed).newValue
    self.seed = seed
    random = SeededGenerator(seed: seed)
    _ = sd_create(disk, seed)
  }

  deinit {
    journal?.close()
    _ = sd_destroy(disk)
  }

  private var path: String { "/simulated/\(disk)/outbox" }

  /// Opens the file, as a starting host does.
  func open() throws(JournalError) -> JournalContents {
    let opened = try Journal(
      path: path, access: .forwarding, sharing: .exclusive,
      source: UInt32.random(in: 1 ... .max, using: &random), runToken: 1)
    journal = opened
    return try opened.contents()
  }

  func apply(_ changes: [JournalChange]) throws(JournalError) {
    commits += 1
    try journal?.apply(changes)
  }

  /// The contents of the file. The host must be running.
  func contents() throws(JournalError) -> JournalContents? { try journal?.contents() }

  /// An orderly end.
  func close() {
    journal?.close()
    journal = nil
  }

  /// The process is killed; its written data stays.
  func kill() {
    _ = sd_kill(disk)
    close()
  }

  /// The power is lost, and with it some unsynced data.
  func losePower() {
    crashes += 1
    _ = sd_crash(disk)
    close()
  }

  /// From the sync with this number on, counted from 0, nothing reaches the disk, until the power
  /// is lost.
  func failAt(sync number: Int) { _ = sd_crash_at_sync(disk, UInt64(number) + 1) }

  /// The same for writes.
  func failAt(write number: Int) { _ = sd_fail_after(disk, UInt64(number) + 1, EIO, SD_FOR_EVER) }

  /// There is no more room, or there is room again.
  func fill() { _ = sd_fail_after(disk, 1, ENOSPC, SD_FOR_EVER) }
  func makeRoom() { _ = sd_fail_after(disk, 0, ENOSPC, SD_FOR_EVER) }

  /// The file is deleted; the host must be down.
  func delete() {
    _ = sd_destroy(disk)
    _ = sd_create(disk, seed)
  }

  /// The file is replaced by another one; the host must be down.
  func replace(by contents: JournalContents) throws(JournalError) {
    delete()
    let copy = try Journal(
      path: path, access: .forwarding, sharing: .exclusive, source: contents.header.source)
    try copy.apply(
      [.header(contents.header)] + contents.entries.map(JournalChange.put)
        + contents.keys.map(JournalChange.putKey) + contents.presses.map(JournalChange.putPresses))
    copy.close()
  }
}
