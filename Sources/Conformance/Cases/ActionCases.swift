import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// Presses that the device keeps until the host has them.
extension Suite {
  static let actions = chapter(.delivery) {
    Case.ofActions(
      "NTF-29/rev", "The event of an action has the rev of the text that was shown",
      also: ["NTF-11", "NTF-26"]
    ) { probe, control, source in
      // Without SYNC no press is kept, and in this session the feature is not in use.
      try await probe.openDelivery(source: source)
      try probe.requireEventRoom()
      try await probe.expectWritten(Sample.json(id: 9))
      try await probe.expectWritten(Sample.json(id: 10, more: ",\"rev\":65535"))
      _ = try await probe.sync(Sync(source))
      for (item, revision) in [(1, 0), (2, 65_535)] as [(UInt32, Int)] {
        try await control.perform(.action(item, 1))
        let unsolicited = try await probe.listen()
        let text = unsolicited.events.first ?? ""
        probe.expect("all notifications", unsolicited.items.count, is: 1)
        probe.expect(Sample.isEvent(text, "action", item: item, action: 1), "the event is \(text)")
        probe.expect("rev in \(text)", EventMembers.parse(text)["\"rev\""], is: "\(revision)")
      }
      try await probe.expectWritten(Sample.json(id: 9, "changed", more: ",\"rev\":3"))
      try await control.perform(.action(1, 0))
      let text = try await probe.listen().events.first ?? ""
      probe.expect("rev in \(text)", EventMembers.parse(text)["\"rev\""], is: "3")
    }

    Case.ofActions(
      "NTF-40/at-once", "A press is reported by ACTION alone, at any MTU and without a subscription",
      also: ["NTF-39", "NTF-30"]
    ) { probe, control, source in
      try await probe.expectWritten(Sample.json(id: 0x0102_0304, more: ",\"rev\":513"))
      try await control.perform(.action(1, 255))
      let subscribed = try await probe.listen()
      let press = Press(255, source, 0x0102_0304, rev: 513, number: 1)
      probe.expect("reports", subscribed.items, is: [.message(press.bytes)])
      try await probe.open(
        Probe.synTLVs(nonce: probe.makeNonce(), features: Probe.actionFeatures) + [.source(source)])
      _ = try await probe.sync(Sync(source))
      try await control.perform(.action(1, 0))
      let narrow = try await probe.listen()
      let second = Press(0, source, 0x0102_0304, rev: 513, number: 2)
      probe.expect("reports without a subscription", narrow.items, is: [.message(second.bytes)])
      try await probe.sendTaken(2, of: source)
    }

    Case.ofActions(
      "NTF-40/at-each-sync", "Kept presses are reported again before each SYNCED, in order, and only then",
      also: ["NTF-31", "NTF-39"]
    ) { probe, control, source in
      for id in 1...2 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.json(id: id)) }
      for (item, act) in [(2, 3), (1, 0), (2, 3)] as [(UInt32, UInt8)] {
        try await control.perform(.action(item, act))
      }
      let presses = [
        Press(3, source, 2, number: 1), Press(0, source, 1, number: 2), Press(3, source, 2, number: 3),
      ]
      let atOnce = try await probe.listen()
      probe.expect("presses at once", atOnce.presses, is: presses)
      for round in 1...3 {
        // A new session changes nothing.
        if round == 3 { try await probe.openDelivery(features: Probe.actionFeatures) }
        var unsolicited = Unsolicited()
        try await probe.sync(Sync(source, known: 2), unsolicited: &unsolicited)
        probe.expect(
          "reports before SYNCED \(round)", unsolicited.items, is: presses.map { .message($0.bytes) })
        let behind = try await probe.listen()
        probe.expect("reports after SYNCED \(round)", behind.items, is: [])
      }
      try await probe.sendTaken(3, of: source)
    }

    Case.ofActions(
      "NTF-39/kept-meanwhile",
      "A press without a host is kept with its rev, also when its notification is changed or leaves",
      also: ["NTF-40", "NTF-26"]
    ) { probe, control, source in
      for id in 1...3 as ClosedRange<UInt32> { try await probe.expectWritten(Sample.json(id: id)) }
      // A session that has not synced.
      try await probe.openDelivery(isSubscribed: false)
      for item in 1...3 as ClosedRange<UInt32> { try await control.perform(.action(item, UInt8(item))) }
      try await control.perform(.dismiss(2))
      try await probe.openDelivery(source: source, features: Probe.actionFeatures)
      try await probe.expectWritten(Sample.json(id: 1, "changed", more: ",\"rev\":1"))
      try await probe.expectWritten(Sample.removal(id: 3))
      var unsolicited = Unsolicited()
      try await probe.sync(Sync(source, known: 3), unsolicited: &unsolicited)
      let presses = (1...3).map { Press(UInt8($0), source, UInt32($0), number: UInt32($0)) }
      probe.expect("presses", unsolicited.presses, is: presses)
      probe.expect("ids that are gone", unsolicited.goneIDs(source), is: [2])
      let order = unsolicited.items.map {
        if case .message(let bytes) = $0 { bytes.first == 5 ? 0 : 1 } else { 1 }
      }
      probe.expect("presses after the report of what is gone", order, is: order.sorted())
      try await probe.expectWritten(Sample.removal(id: 2))
      var again = Unsolicited()
      try await probe.sync(Sync(source, known: 3), unsolicited: &again)
      probe.expect("presses after the removal", again.presses, is: presses)
      try await probe.sendTaken(3, of: source)
    }

    Case.ofActions(
      "NTF-41/taken", "TAKEN releases the presses of its src up to its number, and no others",
      also: ["NTF-40"]
    ) { probe, control, source in
      try await probe.expectWritten(Sample.json(id: 1))
      for act in 0...3 as ClosedRange<UInt8> { try await control.perform(.action(1, act)) }
      try await probe.sendTaken(.max, of: probe.makeSource())
      try await probe.expectPresses(of: source, [1, 2, 3, 4], "after TAKEN of another src")
      try await probe.sendTaken(2, of: source)
      try await probe.expectPresses(of: source, [3, 4], "after TAKEN of 2")
      try await probe.sendTaken(1, of: source)
      try await probe.expectPresses(of: source, [3, 4], "after TAKEN of 1")
      try await probe.sendTaken(.max, of: source)
      try await probe.expectPresses(of: source, [], "after TAKEN of all")
      try await control.perform(.action(1, 0))
      let next = try await probe.listen()
      probe.expect("the number of the next press", next.presses.map(\.number), is: [5])
      try await probe.sendTaken(5, of: source)
    }

    Case.ofActions(
      "NTF-41/nothing-else", "A higher rev and a removal release no press",
      also: ["NTF-23", "NTF-24", "NTF-39"]
    ) { probe, control, source in
      try await probe.expectWritten(Sample.json(id: 1))
      try await control.perform(.action(1, 0))
      _ = try await probe.listen()
      try await probe.expectWritten(Sample.json(id: 1, "changed", more: ",\"rev\":2"))
      try await control.perform(.action(1, 1))
      let changed = try await probe.listen()
      probe.expect("presses", changed.presses, is: [Press(1, source, 1, rev: 2, number: 2)])
      try await probe.expectWritten(Sample.removal(id: 1))
      var unsolicited = Unsolicited()
      try await probe.sync(Sync(source, known: 1), unsolicited: &unsolicited)
      probe.expect(
        "presses after the removal", unsolicited.presses,
        is: [Press(0, source, 1, number: 1), Press(1, source, 1, rev: 2, number: 2)])
      try await probe.sendTaken(2, of: source)
    }

    Case.ofActions(
      "NTF-30/bad-taken",
      "A TAKEN that is too short, or has src or press 0, is dropped; a longer one is read", also: ["NTF-41"]
    ) { probe, control, source in
      try await probe.expectWritten(Sample.json(id: 1))
      try await control.perform(.action(1, 0))
      let valid = [6] + Wire.u32(source) + Wire.u32(1)
      for length in 1..<valid.count { try await probe.sendMessage(Array(valid.prefix(length))) }
      try await probe.sendMessage([6] + Wire.u32(0) + Wire.u32(1))
      try await probe.sendMessage([6] + Wire.u32(source) + Wire.u32(0))
      // A message that only a device sends.
      try await probe.sendMessage(Press(0, source, 1, number: 1).bytes)
      try await probe.expectPresses(of: source, [1], "after invalid messages")
      try await probe.sendMessage(valid + [1, 2, 3])
      try await probe.expectPresses(of: source, [], "after a longer TAKEN")
    }

    Case.ofActions(
      "NTF-39/sixteen",
      "At least 16 presses are kept; what is beyond the room is refused, and what was kept stays",
      also: ["NTF-41"]
    ) { probe, control, source in
      try await probe.expectWritten(Sample.json(id: 1))
      var reported = 0
      for press in 1...40 {
        try await control.perform(.action(1, UInt8(press)))
        reported += try await probe.listen().presses.count
      }
      probe.expect(reported >= 16, "\(reported) presses were reported")
      // The first ones: none was dropped for a later one.
      var unsolicited = Unsolicited()
      try await probe.sync(Sync(source, known: 1), unsolicited: &unsolicited)
      let expected = (1...max(1, reported)).map { Press(UInt8($0), source, 1, number: UInt32($0)) }
      probe.expect("presses at SYNC", unsolicited.presses, is: expected)
      try await probe.sendTaken(1, of: source)
      try await control.perform(.action(1, 50))
      let next = try await probe.listen()
      probe.expect(
        "the press after one was taken", next.presses,
        is: [Press(50, source, 1, number: UInt32(reported + 1))])
      try await probe.sendTaken(.max, of: source)
    }

    Case.ofActions(
      "NTF-39/own-room", "The presses of one src leave the room of another", also: ["NTF-40"]
    ) { probe, control, source in
      try await probe.expectWritten(Sample.json(id: 1))
      var kept: UInt32 = 0
      for _ in 1...40 {
        try await control.perform(.action(1, 0))
        kept += UInt32(try await probe.listen().presses.count)
      }
      let other = probe.makeSource()
      _ = try await probe.sync(Sync(other))
      try await probe.expectWritten(Sample.json(id: 1))
      var numbers: [UInt32] = []
      for _ in 1...16 {
        try await control.perform(.action(2, 0))
        numbers += try await probe.listen().presses.map(\.number)
      }
      probe.expect("numbers of the other's presses", numbers, is: (1...16).map { kept + $0 })
      try await probe.sendTaken(.max, of: other)
      try await probe.sendTaken(.max, of: source)
    }

    Case.ofActions(
      "NTF-39/not-in-use", "Without feature bit 4 a press is an event, each time, and is not kept",
      also: ["LNK-9", "NTF-30", "NTF-40"]
    ) { probe, control, source in
      // Bit 4 alone, without the bit of SYNC, is not set.
      for features in [0b0111, 0b1_0011] as [UInt32] {
        try await probe.openDelivery(source: source, features: features)
        try probe.requireEventRoom()
        if features == 0b0111 {
          try await probe.expectWritten(Sample.json(id: 1))
          _ = try await probe.sync(Sync(source))
        }
        for _ in 1...20 {
          try await control.perform(.action(1, 2))
          let unsolicited = try await probe.listen()
          probe.expect("events", unsolicited.actions(source, 1, act: 2), is: 1)
          probe.expect("all reports", unsolicited.items.count, is: 1)
        }
        try await probe.sendTaken(1, of: source)
      }
      try await probe.openDelivery(source: source, features: Probe.actionFeatures)
      try await probe.expectPresses(of: source, [], "in the first session with the feature")
    }

    Case.ofActions(
      "NTF-40/other-src", "A session of another src gets the event, and SYNC of the press's src ACTION",
      also: ["NTF-29", "NTF-39"]
    ) { probe, control, source in
      try probe.requireEventRoom()
      try await probe.expectWritten(Sample.json(id: 1))
      // One below and one above the press's src.
      for (index, other) in [source &- 2, source &+ 2].enumerated() where other != 0 {
        _ = try await probe.sync(Sync(other))
        try await control.perform(.action(1, UInt8(index)))
        let unsolicited = try await probe.listen()
        probe.expect("events", unsolicited.actions(source, 1, act: UInt32(index)), is: 1)
        probe.expect("all reports", unsolicited.items.count, is: 1)
      }
      try await probe.expectPresses(of: source, [1, 2], "at SYNC of its src")
      try await probe.sendTaken(2, of: source)
    }

    Case(
      "NTF-39/forgotten", "Presses are forgotten with their src, and by a restart",
      also: ["NTF-22", "NTF-40"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let source = try await bench.beginActions()
      try await probe.expectWritten(Sample.json(id: 1))
      try await control.perform(.action(1, 0))
      _ = try await probe.pushOutSource()
      try await probe.expectPresses(of: source, [], "of a src that was forgotten")
      let later = try await bench.beginActions()
      try await probe.expectWritten(Sample.json(id: 1))
      try await control.perform(.action(1, 0))
      try await probe.expectPresses(of: later, [1], "in the boot in which it was kept")
      _ = try await bench.restart()
      try await probe.openDelivery(source: later, features: Probe.actionFeatures)
      try await probe.expectPresses(of: later, [], "after a restart")
    }
  }
}

/// A kept press as a case parses and writes it. Source: PROTOCOL.md NTF-30.
package struct Press: Equatable, Sendable {
  package var act: UInt8
  package var source: UInt32
  package var id: UInt32
  package var revision: UInt16
  package var number: UInt32

  package init(_ act: UInt8, _ source: UInt32, _ id: UInt32, rev revision: UInt16 = 0, number: UInt32) {
    (self.act, self.source, self.id, self.revision, self.number) = (act, source, id, revision, number)
  }

  /// Nil unless the message is an ACTION; bytes behind it are ignored (LNK-3).
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= 16, bytes[0] == 5 else { return nil }
    act = bytes[1]
    source = UInt32(Wire.number(Array(bytes[2..<6])))
    id = UInt32(Wire.number(Array(bytes[6..<10])))
    revision = Wire.word(bytes, at: 10)
    number = UInt32(Wire.number(Array(bytes[12..<16])))
  }

  /// The ACTION.
  package var bytes: [UInt8] {
    [5, act] + Wire.u32(source) + Wire.u32(id) + Wire.u16(revision) + Wire.u32(number)
  }
}

extension Unsolicited {
  /// The presses of the ACTIONs, in order.
  var presses: [Press] { messages.compactMap { Press($0) } }
}

extension Probe {
  /// Feature bits: pipelining, optional keys, SYNC, kept actions.
  static let actionFeatures: UInt32 = 0b1_0111

  /// Skips the case if the device does not keep actions.
  func requireActions() throws {
    guard session.features & 0b1_0000 != 0 else {
      throw CaseEnd.skip("the device announces features \(session.features): no kept actions")
    }
  }

  /// Sends TAKEN, and waits until the device has handled it.
  func sendTaken(_ press: UInt32, of source: UInt32) async throws {
    try await sendMessage([6] + Wire.u32(source) + Wire.u32(press))
    _ = try await readCount()
  }

  /// Sends a message on channel 0, as soon as the device takes it.
  func sendMessage(_ bytes: [UInt8]) async throws {
    try await awaitRoom(file: #fileID, line: #line)
    try await sendData(bytes, channel: 0)
  }

  /// Notes a finding unless SYNC reports exactly these presses.
  func expectPresses(
    of source: UInt32, _ numbers: [UInt32], _ what: String, file: String = #fileID, line: Int = #line
  ) async throws {
    // What was reported earlier is not meant.
    _ = try await listen(file: file, line: line)
    var unsolicited = Unsolicited()
    try await sync(Sync(source), unsolicited: &unsolicited, file: file, line: line)
    expect("presses \(what)", unsolicited.presses.map(\.number), is: numbers, file: file, line: line)
  }
}

extension Bench {
  /// Restarts the device, so that items and presses are numbered from 1, and opens a session of a
  /// new src, whose presses the device keeps.
  func beginActions() async throws -> UInt32 {
    let source = try await openAfterRestart(features: Probe.actionFeatures)
    try probe.requireActions()
    _ = try await probe.sync(Sync(source))
    return source
  }
}

extension Case {
  /// A case of kept presses: `run` gets the probe, the way to the device's user, and the src that
  /// `Bench.beginActions` gave it.
  static func ofActions(
    _ id: String, _ title: String, also: [String] = [],
    run:
      @escaping @Sendable (
        _ probe: Probe, _ control: any DeviceControl, _ source: UInt32
      ) async throws -> Void
  ) -> Case {
    Case(id, title, also: also, needs: [.control]) { probe, bench in
      let control = try bench.requireControl()
      try await run(probe, control, try await bench.beginActions())
    }
  }
}
