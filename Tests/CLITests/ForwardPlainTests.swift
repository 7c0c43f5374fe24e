import Foundation
import Testing

/// `notibot forward` to a device without identities: the effect of its options.
@Suite(.inTurn) struct ForwardPlainTests {
  @Test(arguments: [false, true])
  func `after a restart of the device only --replay restores its notifications`(replays: Bool)
    async throws
  {
    try await withForwarding("--profile", "firmware") { forwarding in
      let forward = replays ? try forwarding.start("--replay") : try forwarding.start()
      forward.write(Forwarding.lines(1...2))
      for number in 1...2 { try await forward.result("delivered", of: number) }
      try await forwarding.emulator.ask(["command": "reboot", "reason": "panic"])
      try await forward.document { $0["event"] == "down" && $0["reason"] == "the device restarted" }
      forward.write(Forwarding.line("3") + "\n")
      try await forward.result("delivered", of: 3)
      forward.closeInput()
      let ending = await forward.ending()
      #expect(ending.status == .exited(0))
      #expect(try ending.numbers("delivered").sorted() == [1, 2, 3])
      #expect(try await forwarding.titles() == (replays ? ["1", "2", "3"] : ["3"]))
    }
  }

  @Test(arguments: [false, true])
  func `an unanswered notification is sent again, or reported as unknown with --no-resend`(isResent: Bool)
    async throws
  {
    try await withForwarding("--profile", "firmware") { forwarding in
      let first = try forwarding.start("--timeout", "1")
      first.write(Forwarding.line("1") + "\n")
      try await first.result("delivered", of: 1)
      try await forwarding.emulator.ask(["command": "stall"])
      first.write(Forwarding.line("2") + "\n")
      try await first.result("queued", of: 2)
      first.closeInput()
      #expect(await first.ending().status == .exited(13))
      try await forwarding.emulator.ask(["command": "resume"])
      let second = try await forwarding.run(isResent ? "--json" : "--no-resend")
      #expect(second.status == .exited(0), "\(second.errors)")
      #expect(try second.numbers("delivered") == (isResent ? [2] : []))
      #expect(try second.numbers("unknown") == (isResent ? [] : [2]))
    }
  }
}
