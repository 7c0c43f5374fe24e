import Foundation
import Glibc
import Testing

/// Files and streams that cannot be written, and limits that are too low.
@Suite(.inTurn) struct LostOutputTests {
  @Test(.enabled(if: ReadOnlyFolder.canBeMounted, "no file system can be mounted here"))
  func `on a full disk the former reports stay, and the run is not a success`() async throws {
    let directory = try TemporaryDirectory()
    let script = #"""
      mount -t tmpfs -o size=64k none /mnt || exit 99
      run() { "$1" test -p emu: --filter "$2" --json /mnt/j.json --junit /mnt/j.xml -q >/dev/null; }
      run "$1" '^FRM-1/' || exit 98
      cp /mnt/j.json /mnt/j.xml "$2"
      dd if=/dev/zero of=/mnt/fill bs=4k 2>/dev/null
      run "$1" '^(FRM|ATT)-'
      echo "status $?"
      cmp /mnt/j.json "$2/j.json" && cmp /mnt/j.xml "$2/j.xml" && ls -A /mnt
      """#
    let ending = try await Program(
      ["--map-root-user", "--mount", "sh", "-c", script, "sh", Program.notibot, directory.path],
      program: "/usr/bin/unshare", environment: ["TMPDIR": directory.path]
    ).ending()
    #expect(ending.lines == ["status 18", "fill", "j.json", "j.xml"], "\(ending.errors)")
    for name in ["j.json", "j.xml"] {
      #expect(ending.errors.contains("cannot write /mnt/\(name): No space left on device; the report is in"))
    }
  }

  @Test func `a report at the file that stdout is redirected to does not replace it`() async throws {
    let directory = try TemporaryDirectory()
    let file = directory.file("out")
    let ending = try await Program(
      ["test", "--rig", "emulator", "--filter", "^FRM-1/literal-syn", "--junit", "/dev/stdout"],
      streams: .file(file)
    ).ending()
    #expect(ending.status == .exited(0))
    let text = try directory.contents(of: "out")
    #expect(text.contains("1 of 1 passed") && text.contains("</testsuites>"), "\(text)")
  }

  @Test(arguments: ["-f 0", "-f 1"])
  func `a limit of the size of files is reported`(limit: String) async throws {
    let directory = try TemporaryDirectory()
    let ending = try await run(
      under: limit, "test", "--rig", "emulator", "--filter", "^FRM-", "--json", directory.file("j.json"), "-q"
    )
    #expect(ending.status == .exited(18), "\(ending.errors)")
    #expect(ending.errors.contains("cannot write \(directory.file("j.json")): File too large"))
    #expect(try directory.names() == [])
  }

  @Test(
    arguments: [6, 8, 12, 16, 24, 32, 64],
    [["count", "-p", "emu:"], ["test", "--rig", "emulator"], ["doctor"]])
  func `too few descriptors are reported`(count: Int, command: [String]) async throws {
    let ending = try await run(under: "-n \(count)", command)
    #expect(ending.status == .exited(18), "\(ending.errors)")
    #expect(ending.errorLines.count == 1 && ending.errors.contains("ulimit -n "))
  }

  @Test func `a soft limit is raised`() async throws {
    #expect(try await run(under: "-S -n 16", "count", "-p", "emu:").output == "0\n")
  }

  @Test func `too little virtual memory is reported`() async throws {
    let ending = try await run(under: "-v 600000", "count", "-p", "emu:")
    #expect(ending.status == .exited(18), "\(ending.errors)")
    #expect(ending.errorLines.count == 1 && ending.errors.contains("ulimit -v "))
  }

  private func run(under limit: String, _ arguments: String...) async throws -> Program.Ending {
    try await run(under: limit, arguments)
  }

  private func run(under limit: String, _ arguments: [String]) async throws -> Program.Ending {
    try await Program(
      ["-c", "ulimit \(limit); exec \"$0\" \"$@\"", Program.notibot] + arguments, program: "/bin/bash"
    ).ending()
  }
}
