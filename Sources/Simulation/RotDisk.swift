import CSimulatedDisk
import Glibc
package import NotibotHost
import Synchronization

/// A disk in memory with one journal, whose bytes can be read and flipped.
package final class RotDisk {
  /// A file of the journal.
  package enum File: String, Equatable, Sendable, CaseIterable {
    case database = "outbox"
    case log = "outbox-wal"

    /// The name of the file on the disk.
    var name: String { "/" + rawValue }
  }

  private static let disksCount = Atomic<UInt64>(1 << 40)

  private let id: UInt64

  /// - Parameter seed: decides what is left after a crash.
  package init(seed: UInt64) {
    id = Self.disksCount.wrappingAdd(1, ordering: .relaxed).newValue
    _ = sd_create(id, seed)
  }

  deinit { _ = sd_destroy(id) }

  private var path: String { "/simulated/\(id)\(File.database.name)" }

  /// Opens the journal, which is created for `forwarding`.
  package func open(_ access: Journal.Access) throws(JournalError) -> Journal {
    try Journal(path: path, access: access, sharing: .exclusive, source: 7, runToken: 1)
  }

  /// The readable contents of the journal.
  package func salvage() throws(JournalError) -> JournalSalvage {
    try JournalSalvage(path: path, sharing: .exclusive)
  }

  /// The process was killed.
  package func kill() { _ = sd_kill(id) }

  /// The power was lost, and with it some unsynced data.
  package func losePower() { _ = sd_crash(id) }

  /// From the sync with this number on, counted from 1, nothing reaches the disk until the power is
  /// lost.
  package func fail(atSync number: UInt64) { _ = sd_crash_at_sync(id, number) }

  /// From the write with this number on, counted from 1, all fail.
  package func fail(atWrite number: UInt64) { _ = sd_fail_after(id, number, EIO, SD_FOR_EVER) }

  /// The write with this number, counted from 1, fails because the disk is full.
  package func fill(atWrite number: UInt64) { _ = sd_fail_after(id, number, ENOSPC, SD_ONCE) }

  /// There is room again.
  package func makeRoom() { _ = sd_fail_after(id, 0, ENOSPC, SD_ONCE) }

  /// Length of a file in bytes; 0 if it does not exist.
  package func length(of file: File) -> UInt64 {
    var count: UInt64 = 0
    _ = sd_length(id, file.name, &count)
    return count
  }

  /// All bytes of a file.
  package func bytes(of file: File) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Int(length(of: file)))
    if !bytes.isEmpty { _ = sd_copy(id, file.name, 0, &bytes, UInt64(bytes.count)) }
    return bytes
  }

  /// Flips the bit with this number, counted from the least significant one of the first byte.
  package func flip(bit: UInt64, of file: File) { _ = sd_flip_bit(id, file.name, bit) }
}
