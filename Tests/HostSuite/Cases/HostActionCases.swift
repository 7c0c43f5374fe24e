import Conformance
import NotibotHost
import NotibotProtocol

/// What a host does with presses that the device keeps.
extension HostSuite {
  static let hostActions = Suite.chapter(.delivery) {
    Case.host(
      "NTF-42/host-durable", "A press is in the journal before it is reported and before TAKEN",
      also: ["NTF-40", "NTF-41", "LNK-9"]
    ) { probe, bench in
      let device = try await makeLive(bench)
      _ = device.drainReports()
      device.isJournalHeld = true
      try await device.press(press(2, number: 7))
      try await device.expectNothing("before the journal has the press")
      device.probe.expect("reports", device.drainReports(), is: [])
      device.confirmCommit()
      device.probe.expect("reports", device.drainReports(), is: [action(2)])
      try await device.expectTaken(7)
      try await device.expectNothing("after TAKEN", for: .seconds(5))
    }

    Case.host(
      "NTF-42/host-once", "A press that is reported again is acknowledged again, and not taken again",
      also: ["NTF-41"]
    ) { probe, bench in
      let device = try await makeLive(bench)
      try await device.press(press(2, number: 7))
      try await device.expectTaken(7)
      device.probe.expect(device.drainReports().contains(action(2)), "the press is not reported")
      // TAKEN was lost with the session, then with the host.
      for round in 1...2 {
        if round == 1 { try await device.endSession() } else { device.crash() }
        try await agree(device, presses: [press(2, number: 7)])
        try await device.expectTaken(7)
        device.probe.expect(!device.drainReports().contains(action(2)), "the press is reported again")
      }
      // The host is killed before the journal has the next one.
      device.isJournalHeld = true
      try await device.press(press(3, number: 8))
      try await device.expectNothing("before the journal has the press")
      device.crash()
      device.isJournalHeld = false
      try await agree(device, presses: [press(3, number: 8)])
      try await device.expectTaken(8)
      device.probe.expect("actions", device.drainReports().filter { $0 == action(3) }.count, is: 1)
    }

    Case.host(
      "NTF-42/host-several",
      "Of several presses each is taken, in order, and the last TAKEN is of the highest", also: ["NTF-41"]
    ) { probe, bench in
      let device = bench.makeForwarder(holding: ["one"])
      device.features = actionFeatures
      try await agree(device, presses: (1...5).map { press(UInt8($0), number: UInt32($0)) })
      var last: UInt32 = 0
      while last < 5, case .taken(_, let number)? = try await device.nextMessage() { last = number }
      device.probe.expect("the last TAKEN", last, is: 5)
      let actions = device.drainReports().filter { if case .action = $0 { true } else { false } }
      device.probe.expect("actions", actions, is: (1...5).map { action($0) })
    }

    Case.host(
      "NTF-42/host-stale", "A press for another text than the newest one is stale, and taken all the same",
      also: ["NTF-29", "NTF-23"]
    ) { probe, bench in
      let device = try await makeLive(bench)
      _ = device.drainReports()
      device.isJournalHeld = true
      device.submit(.update(OutboxNumber(rawValue: 1), ForwardingBench.notification("changed")))
      // The host has accepted the text, and the device does not have it yet.
      try await device.press(press(1, number: 1))
      device.isJournalHeld = false
      device.confirmCommit()
      var revisions: [[UInt8]] = []
      var takenCount = 0
      for _ in 1...2 {
        switch try await device.nextMessage() {
        case .write(let json)?: revisions.append(json)
        case .taken(_, 1)?: takenCount += 1
        case .taken?, .sync?, nil: break
        }
      }
      let changed = Sample.json(id: 1, "changed", more: ",\"rev\":1,\"ev\":\"m\"")
      device.probe.expect("writes", revisions, is: [changed])
      device.probe.expect("TAKEN", takenCount, is: 1)
      try await device.press(press(2, number: 2))
      try await device.expectTaken(2)
      try await device.answer()
      try await device.press(press(3, rev: 1, number: 3))
      try await device.expectTaken(3)
      device.submit(.remove(OutboxNumber(rawValue: 1)))
      try await device.expectWrite(Sample.removal(id: 1))
      try await device.press(press(4, rev: 1, number: 4))
      try await device.expectTaken(4)
      let actions = device.drainReports().filter { if case .action = $0 { true } else { false } }
      device.probe.expect(
        "actions", actions,
        is: [
          action(1, isStale: true), action(2, isStale: true), action(3, rev: 1),
          action(4, rev: 1, isStale: true),
        ])
    }

    Case.host(
      "NTF-42/host-waits",
      "A press before SYNCED waits for it, and is taken although its notification has left",
      also: ["NTF-40", "NTF-26"]
    ) { probe, bench in
      let device = bench.makeForwarder(holding: ["one"])
      device.features = actionFeatures
      try await device.open()
      try await device.expectSync(known: 1, held: held("one"))
      try await device.press(press(1, number: 1))
      try await device.notify(
        "{\"ev\":\"dismissed\",\"item\":1,\"id\":1,\"src\":\(ForwardingBench.source)}")
      try await device.expectNothing("before SYNCED", for: .seconds(5))
      device.probe.expect(!device.drainReports().contains(action(1)), "an action before SYNCED")
      try await device.answerSync(held: [], highest: 1)
      var messages: [HostMessage] = []
      for _ in 1...2 { if let message = try await device.nextMessage() { messages.append(message) } }
      device.probe.expect(
        messages.contains(.taken(source: ForwardingBench.source, press: 1)), "no TAKEN after SYNCED")
      device.probe.expect(messages.contains(.write(Sample.removal(id: 1))), "no removal after SYNCED")
      device.probe.expect("actions", device.drainReports().filter { $0 == action(1) }.count, is: 1)
    }

    Case.host(
      "NTF-42/host-leaves", "Presses that can be another's are neither taken nor acknowledged",
      also: ["NTF-35", "NTF-40"]
    ) { probe, bench in
      let device = try await makeLive(bench)
      _ = device.drainReports()
      // Another source.
      try await device.press(Press(1, ForwardingBench.source - 1, 1, number: 1))
      try await device.expectNothing("for another's press")
      try await device.endSession()
      try await device.open()
      try await device.expectSync(known: 1, held: held("one"))
      try await device.press(press(2, number: 2))
      // Another memory has written under this source.
      try await device.answerSync(held: held("one"), highest: 9)
      try await device.expectWrite(Sample.json(id: 1, "one"))
      try await device.answer()
      try await device.expectNoTaken()
      let actions = device.drainReports().filter { if case .action = $0 { true } else { false } }
      device.probe.expect("actions", actions, is: [])
    }

    Case.host(
      "NTF-42/host-events", "With kept actions the host ignores the events of actions", also: ["NTF-29"]
    ) { probe, bench in
      let device = try await makeLive(bench)
      _ = device.drainReports()
      try await device.notify(
        "{\"ev\":\"action\",\"item\":1,\"act\":1,\"id\":1,\"src\":\(ForwardingBench.source),\"rev\":0}")
      try await device.expectNothing("after an event")
      device.probe.expect("reports", device.drainReports(), is: [])
    }

    Case.host(
      "NTF-42/host-boots", "The host remembers what it took in 16 boots, whichever devices they are of",
      also: ["NTF-41"]
    ) { probe, bench in
      let device = try await makeLive(bench)
      let first = device.bootID
      for round in 0..<16 as Range<UInt32> {
        if round > 0 {
          device.bootID = first + round
          try await device.endSession()
          try await agree(device)
        }
        try await device.press(press(1, number: 5))
        try await device.expectTaken(5)
      }
      device.probe.expect("actions", device.drainReports().filter { $0 == action(1) }.count, is: 16)
      device.bootID = first
      try await device.endSession()
      try await agree(device, presses: [press(1, number: 5)])
      try await device.expectTaken(5)
      device.probe.expect(
        !device.drainReports().contains(action(1)), "a press of the first boot is taken again")
    }

    Case.host(
      "NTF-29/host-rev",
      "Without kept actions an event is reported with its rev, and as stale if that is old",
      also: ["NTF-11", "NTF-26"]
    ) { probe, bench in
      let device = bench.makeForwarder(holding: ["one"])
      try await agree(device)
      _ = device.drainReports()
      for rev in ["", ",\"rev\":0", ",\"rev\":1"] {
        try await device.notify(
          "{\"ev\":\"action\",\"item\":1,\"act\":1,\"id\":1,\"src\":\(ForwardingBench.source)\(rev)}")
      }
      try await device.expectNothing("after an event")
      device.probe.expect(
        "reports", device.drainReports(),
        is: [action(1, rev: nil), action(1), action(1, rev: 1, isStale: true)])
    }
  }

  private static let actionFeatures: UInt32 = 0b1_0111

  private static func action(
    _ act: UInt32, of number: Int64 = 1, rev revision: UInt16? = 0, isStale: Bool = false
  ) -> OutboxReport {
    .action(OutboxNumber(rawValue: number), act: act, revision: revision, isStale: isStale)
  }

  /// A host that holds "one" and agrees with the device, in a session with kept actions.
  private static func makeLive(_ bench: HostCaseBench) async throws -> ForwardingBench {
    let device = bench.makeForwarder(holding: ["one"])
    device.features = actionFeatures
    try await agree(device)
    return device
  }

  /// Opens a session; the host and the device hold "one".
  private static func agree(_ device: ForwardingBench, presses: [Press] = []) async throws {
    try await device.open()
    try await device.expectSync(known: 1, held: held("one"))
    for press in presses { try await device.press(press) }
    try await device.answerSync(held: held("one"), highest: 1)
  }

  private static func press(_ act: UInt8 = 0, rev: UInt16 = 0, number: UInt32) -> Press {
    Press(act, ForwardingBench.source, 1, rev: rev, number: number)
  }
}

extension ForwardingBench {
  /// The device reports a kept press.
  func press(_ press: Press) async throws {
    try await probe.sendData(press.bytes, channel: 0)
  }

  /// The next message of the host is this TAKEN, otherwise the case ends.
  func expectTaken(_ press: UInt32, file: String = #fileID, line: Int = #line) async throws {
    let message = try await nextMessage(file: file, line: line)
    guard message == .taken(source: Self.source, press: press) else {
      throw CaseEnd.fault(
        "\(message.map { "\($0)" } ?? "nothing") where TAKEN of \(press) was expected", file: file, line: line
      )
    }
  }

  /// Notes a finding if the host sends TAKEN, whatever else it sends; all writes succeed.
  func expectNoTaken(file: String = #fileID, line: Int = #line) async throws {
    while let message = try await nextMessage(within: .seconds(5), file: file, line: line) {
      switch message {
      case .write: try await answer()
      case .sync(let sync): try await answerSync(source: sync.source, held: [], highest: 0)
      case .taken: probe.expect(false, "\(message) for another's press", file: file, line: line)
      }
    }
  }
}
