import Foundation
import SerialLink
import Testing

@Suite struct DiskWaitTests {
  @Test func `a thread in an uninterruptible wait is seen, until it goes on`() async throws {
    let directory = try TemporaryDirectory()
    let fifo = directory.file("fifo")
    #expect(mkfifo(fifo, 0o600) == 0)
    // posix_spawn waits like for a disk until the new program starts, and that opens the FIFO
    // before.
    let spawning = Thread {
      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      posix_spawn_file_actions_addopen(&actions, 0, fifo, O_RDONLY, 0)
      var child: pid_t = 0
      let arguments = [strdup("true"), nil]
      if posix_spawn(&child, "/bin/true", &actions, nil, arguments, environ) == 0 {
        var status: Int32 = 0
        waitpid(child, &status, 0)
      }
      arguments.forEach { free($0) }
      posix_spawn_file_actions_destroy(&actions)
    }
    spawning.start()
    try await waitUntil { DiskWait.isNow() }
    let writer = open(fifo, O_WRONLY | O_CLOEXEC)
    #expect(writer >= 0)
    try await waitUntil { spawning.isFinished }
    try await waitUntil { !DiskWait.isNow() }
    close(writer)
  }
}
