import Glibc
import SerialLink
import Synchronization
import Testing

struct OutputQueueTests {
  @Test func `a reader that is stalled stops nobody, and what is dropped is counted`() throws {
    let (reading, writing) = try pipe()
    defer { close(reading) }
    let queue = OutputQueue(writing, limitBytes: 100_000) { "dropped \($0)\n" }
    let line = String(repeating: "x", count: 99) + "\n"
    // More than the pipe and the queue hold. Returns, although nothing is read.
    for _ in 0..<5000 { queue.put(line) }
    let text = Mutex("")
    var lines = 0
    var dropped = 0
    while lines + dropped < 5000 {
      let part = read(reading)
      text.withLock { $0 += part }
      let all = text.withLock { $0 }.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
      lines = all.count { $0.hasPrefix("x") }
      dropped = all.filter { $0.hasPrefix("dropped ") }.compactMap { Int($0.dropFirst(8)) }.reduce(0, +)
    }
    #expect(lines + dropped == 5000)
    #expect(dropped > 0 && lines >= 1000)
    close(writing)
  }

  @Test func `the end waits for a reader, and not for one that reads nothing`() throws {
    let (reading, writing) = try pipe()
    let queue = OutputQueue(writing) { _ in "" }
    queue.put("one\n")
    queue.finish()
    #expect(read(reading) == "one\n")
    for _ in 0..<2 { queue.put(String(repeating: "x", count: 99_999) + "\n") }
    queue.finish(stallLimitMs: 1)
    // The thread that writes ends with the reader.
    signal(SIGPIPE, SIG_IGN)
    close(reading)
    queue.finish(stallLimitMs: 60_000)
    close(writing)
  }

  @Test func `a failure is reported once`() throws {
    signal(SIGPIPE, SIG_IGN)
    let (reading, writing) = try pipe()
    close(reading)
    let failures = Mutex<[Int32]>([])
    let queue = OutputQueue(writing, failure: { number in failures.withLock { $0.append(number) } }) { _ in ""
    }
    for _ in 0..<3 {
      queue.put("one\n")
      queue.finish(stallLimitMs: 60_000)
    }
    #expect(failures.withLock { $0 } == [EPIPE])
    close(writing)
  }

  private func pipe() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [0, 0]
    try #require(Glibc.pipe(&ends) == 0)
    ends.forEach { _ = fcntl($0, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  private func read(_ descriptor: Int32) -> String {
    let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
      count = max(0, Glibc.read(descriptor, buffer.baseAddress, buffer.count))
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
