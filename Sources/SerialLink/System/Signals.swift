import CSerialShim
import Glibc

/// Signals that arrive as bytes of a descriptor, so that an ordinary thread takes them and none is
/// lost.
package struct Signals: Sendable {
  private let descriptor: Int32
  private let numbers: [Int32]

  /// Takes over the signals that ask a process to end, permanently; called once in a process. A
  /// hang-up or a Ctrl-\ that is ignored at the start, as by `nohup` and for the background jobs of
  /// a script, stays ignored. Returns `nil` if the system has no pipe left: then the signals keep
  /// their default action.
  package static func watchEndings() -> Signals? {
    // SIGTERM is the last one: a test waits for it, because the runtime handles SIGQUIT at once.
    let numbers = [SIGHUP, SIGQUIT].filter { signals_shim_is_ignored($0) == 0 } + [SIGINT, SIGTERM]
    let descriptor = signals_shim_watch(numbers, numbers.count)
    return descriptor < 0 ? nil : Signals(descriptor: descriptor, numbers: numbers)
  }

  /// Restores the default action of the signals.
  package func release() {
    signals_shim_release(numbers, numbers.count)
  }

  /// Waits for signals, at most `limitMs` milliseconds (-1: indefinitely). Returns their numbers in
  /// order; empty after the time limit. Blocks its thread.
  package func wait(limitMs: Int32) -> [Int32] {
    var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&ready, 1, limitMs) > 0 else { return [] }
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(descriptor, &bytes, bytes.count)
    return bytes.prefix(max(0, count)).map(Int32.init)
  }
}

/// How long the threads of this process have waited for a processor.
package enum ProcessorWait {
  /// Total nanoseconds for the threads that run now; 0 if the kernel does not count them.
  /// Source: kernel Documentation/scheduler/sched-stats.rst, "/proc/<pid>/schedstat".
  package static func nanoseconds() -> UInt64 {
    var total: UInt64 = 0
    for thread in FileSystem.names(in: "/proc/self/task") {
      let fields = FileSystem.line(at: "/proc/self/task/\(thread)/schedstat")?.split(separator: " ") ?? []
      if fields.count == 3, let waited = UInt64(fields[1]) { total &+= waited }
    }
    return total
  }
}

/// Whether the threads of this process wait for a disk.
package enum DiskWait {
  /// Whether one of them does now, or for something else that cannot be interrupted.
  /// Source: proc_pid_stat(5), state D.
  package static func isNow() -> Bool {
    FileSystem.names(in: "/proc/self/task").contains { thread in
      let line = FileSystem.line(at: "/proc/self/task/\(thread)/stat") ?? ""
      // The name of the thread is in parentheses and can contain some.
      return line[(line.lastIndex(of: ")") ?? line.startIndex)...].dropFirst(2).first == "D"
    }
  }
}
