import CSerialShim
import Glibc

/// The only owner of a serial port's descriptor; unlocks and closes it when it goes out of scope.
struct PortDescriptor: ~Copyable, Sendable {
  /// Valid for as long as this value lives.
  let raw: Int32

  /// Takes ownership of `raw`, which must be open and owned by nobody else.
  init(owning raw: Int32) {
    self.raw = raw
  }

  deinit {
    PortDescriptor.unlock(raw)
    _ = close(raw)
  }

  /// Gives the descriptor away, lock and all; the receiver unlocks and closes it.
  consuming func release() -> Int32 {
    let raw = raw
    discard self
    return raw
  }

  /// Releases the lock of `raw`, which is about to be closed.
  ///
  /// Closing alone is not enough: a child process that another thread is just starting holds a copy
  /// of every descriptor until its exec, and with it the lock.
  static func unlock(_ raw: Int32) {
    _ = flock(raw, LOCK_UN)
  }

  /// How often `interrupting` interrupts.
  private static let interruptIntervalMs: UInt32 = 20

  /// Executes `body` while signals interrupt this thread's waiting system calls; for the close of a
  /// port with bytes that its device does not take.
  static func interrupting(_ body: () -> Void) {
    var interrupts = serial_shim_interrupts()
    let result = serial_shim_interrupt_begin(&interrupts, interruptIntervalMs)
    body()
    if result == 0 { serial_shim_interrupt_end(&interrupts) }
  }
}
