import CSerialShim

/// The memory of this process.
package enum HeapMemory {
  /// Returns to the system what is free between the remains of a long queue that was just read:
  /// otherwise it stays part of the process.
  package static func releaseUnused() { memory_shim_trim() }
}
