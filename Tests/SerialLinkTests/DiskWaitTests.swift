import SerialLink
import Testing

@Suite struct DiskWaitTests {
  @Test func `a thread in an uninterruptible wait is seen, until it goes on`() async throws {
    let directory = try TemporaryDirectory()
    do {
      // posix_spawn waits like for a disk until the new program runs.
      let starting = try StartingProgram(in: directory)
      defer { starting.release() }
      try await waitUntil { DiskWait.isNow() }
    }
    try await waitUntil { !DiskWait.isNow() }
  }
}
