import Foundation
import Glibc
import Testing

/// Typing errors, and computers without the usual environment.
@Suite(.inTurn) struct CommandLineTests {
  @Test func `an unknown command is refused, with the nearest one as a suggestion`() async throws {
    for words in [["sned"], ["help", "sned"], ["sned", "--app", "a"]] {
      let ending = try await Program(words).ending()
      #expect(ending.status == .exited(2))
      #expect(ending.output == "")
      #expect(ending.errors == "notibot: unknown command 'sned'; did you mean 'send'?\n")
    }
    let stranger = try await run("help", "nonsense")
    #expect(stranger.status == .exited(2))
    #expect(stranger.errors.contains("notibot --help"))
    #expect(try await run("help", "send").status == .exited(0))
    #expect(try await run("help").status == .exited(0))
  }

  @Test func `a count of seeds is that many runs from the first seed`() async throws {
    let ending = try await Program(["simulate", "--seeds", "2", "--json"], program: Program.dev).ending()
    #expect(ending.status == .exited(0), "\(ending.errors)")
    let report = try JSON(parsing: ending.output)
    #expect(report["runs"] == 2 && report["firstSeed"] == 1 && report["lastSeed"] == 2)
    let none = try await Program(["simulate", "--seeds", "0"], program: Program.dev).ending()
    #expect(none.status == .exited(2))
  }

  @Test func `the parts of the seeds are whole and disjoint`() async throws {
    var seeds: [Double] = []
    for part in 1...3 {
      let ending = try await Program(
        ["simulate", "--seeds", "5..11", "--shard", "\(part)/3", "--json"], program: Program.dev
      ).ending()
      let document = try JSON(parsing: ending.output)
      seeds += [document["firstSeed"].number ?? 0, document["lastSeed"].number ?? 0]
    }
    #expect(seeds == [5, 6, 7, 8, 9, 11])
    for shard in ["0/3", "4/3", "1", "1/0", "x/2", "1/8", "1/2/3"] {
      let wrong = try await Program(
        ["simulate", "--seeds", "5..11", "--shard", shard], program: Program.dev
      ).ending()
      #expect(wrong.status == .exited(2), "\(shard): \(wrong.errors)")
    }
  }

  @Test func `the largest seed can be simulated`() async throws {
    let last = UInt64.max
    for arguments in [
      ["--seed", "\(last)"], ["--seeds", "\(last - 1)..\(last)"], ["--rot", "--seed", "\(last)"],
    ] {
      let ending = try await Program(["simulate"] + arguments + ["--json"], program: Program.dev).ending()
      #expect(ending.status == .exited(0), "\(arguments): \(ending.errors)")
      #expect(ending.output.contains("\(last)"))
    }
  }

  @Test(arguments: ["null", "zero"])
  func `a port is found in /dev by its name alone`(name: String) async throws {
    let ending = try await run("count", "-p", name)
    #expect(ending.status == .exited(2))
    #expect(ending.errors.contains("cannot open /dev/\(name): not a serial port"))
  }

  @Test func `a port is found in the working folder by its name alone`() async throws {
    try await withEmulator { emulator in
      let folder = emulator.directory.path
      let ending = try await Program(
        ["-c", "cd '\(folder)' && exec \(Program.notibot) count -p port"], program: "/bin/sh"
      ).ending()
      #expect(ending.status == .exited(0), "\(ending.errors)")
      #expect(ending.output == "0\n")
    }
  }

  @Test func `an interruption ends the line of the progress bar`() async throws {
    let soak = try Program(
      ["-qefc", "TERM=xterm \(Program.notibot) soak -p emu: --duration 1h --rate 1", "/dev/null"],
      program: "/usr/bin/script", input: nil)
    #expect(await soak.output.contains("0 %"))
    soak.write("\u{3}")
    let ending = await soak.ending()
    // The terminal shows the key as ^C.
    #expect(ending.output.replacing("^C", with: "").contains(" %\r\n"), "\(ending.output)")
    #expect(!ending.output.contains("%notibot"))
  }

  @Test(.enabled(if: MountNamespace.isAvailable, "needs to mount in a namespace of its own"))
  func `a command reports missing pseudo-terminals and a missing /proc`() async throws {
    let terminals = try await MountNamespace.runWithout("/dev", ["count", "-p", "emu:"])
    #expect(terminals.status == .exited(18), "\(terminals.errors)")
    #expect(terminals.errors.contains("cannot create a pseudo-terminal"))
    let processes = try await MountNamespace.runWithout("/proc", ["count", "-p", "emu:"])
    #expect(processes.status == .exited(18), "\(processes.errors)")
    #expect(processes.errors.contains("/proc/self/cmdline is missing"))
  }

  @Test func `a program that has the port open without a lock is named when nothing answers`() async throws {
    let terminal = try ControlledTerminal()
    let holder = try Program(
      ["-c", "exec 3<>\(terminal.path); echo held; read line"], program: "/bin/sh", input: nil)
    #expect(try await holder.output.line(0) == "held")
    for command in [["count"], ["send", "--app", "a"], ["test"], ["reset"]] {
      let ending = try await Program(command + ["-p", terminal.path]).ending()
      #expect(ending.status == .exited(11), "\(ending.errors)")
      #expect(ending.errors.contains("in use by process \(holder.pid) (/bin/sh"), "\(ending.errors)")
    }
    holder.closeInput()
    _ = await holder.ending()
  }

  @Test(arguments: [["monitor"], ["forward", "--outbox"]])
  func `a program that has the port open without a lock is named once it is open`(
    command: [String]
  ) async throws {
    let (terminal, directory) = (try ControlledTerminal(), try TemporaryDirectory())
    let holder = try Program(
      ["-c", "exec 3<>\(terminal.path); echo held; read line"], program: "/bin/sh", input: nil)
    #expect(try await holder.output.line(0) == "held")
    let outbox = command.count > 1 ? [directory.file("outbox")] : []
    let program = try Program(command + outbox + ["-p", terminal.path], input: nil)
    var line = ""
    for index in 0..<3 where !line.contains("is also open") {
      line = try await program.errors.line(index)
    }
    #expect(line.contains("\(terminal.path) is also open in process \(holder.pid) (/bin/sh"), "\(line)")
    program.send(SIGTERM)
    #expect(await program.ending().status == .exited(143))
    holder.closeInput()
    _ = await holder.ending()
  }
}
