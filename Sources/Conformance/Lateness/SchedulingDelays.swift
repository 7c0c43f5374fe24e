import Glibc

/// The kernel's statistics about the scheduling of a process. Source: Linux,
/// Documentation/scheduler/sched-stats.rst; proc(5).
struct SchedulingDelays {
  /// The maximum number of threads of one process that are read.
  static let threadsLimit = 256
  private static let fileLimitBytes = 128

  /// The directory in which the kernel lists processes.
  let root: String

  init(root: String = "/proc") {
    self.root = root
  }

  /// How long each thread of a process has waited for a processor, in nanoseconds, by its id. Empty
  /// if the process has ended, or the kernel keeps no statistics.
  func waits(of process: Int32) -> [Int32: UInt64] {
    let tasks = "\(root)/\(process)/task"
    guard let directory = opendir(tasks) else { return [:] }
    defer { closedir(directory) }
    var waits: [Int32: UInt64] = [:]
    while waits.count < Self.threadsLimit, let entry = readdir(directory) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      guard let thread = Int32(name), let text = read("\(tasks)/\(name)/schedstat") else { continue }
      // Time on a processor, time waited for one, time slices; in nanoseconds.
      let fields = text.split { $0 == " " || $0 == "\n" }
      if fields.count == 3, let waited = UInt64(fields[1]) { waits[thread] = waited }
    }
    return waits
  }

  private func read(_ path: String) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: Self.fileLimitBytes)
    let count = Glibc.read(file, &bytes, bytes.count)
    return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
  }
}
