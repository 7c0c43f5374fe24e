import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// What continues and what ends when a host or a device comes back.
extension Suite {
  static let reconnection = chapter(.reconnection) {
    Case(
      "LNK-10/syn-stops-hellos", "A SYN after the first HELLO ends the HELLOs", needs: [.control]
    ) { probe, bench in
      try await bench.restart()
      try await probe.open()
      let later = try await probe.frames(for: .milliseconds(600))
      probe.expect("HELLOs after the SYN", later.filter { $0.kind == .hello }, is: [])
    }

    Case(
      "LNK-12/boot-id-after-reboot", "After a restart BOOT_ID changes, in HELLO and SYNACK alike",
      also: ["LNK-10", "LNK-6"], needs: [.control]
    ) { probe, bench in
      try await probe.open()
      let before = probe.session.bootID
      let hello = try await bench.restartSession()
      let tlvs = TLV.parse(hello.payload)?.number(of: 0x0A)
      probe.expect(tlvs != before, "the boot id is the same after a restart")
      try await probe.open()
      probe.expect("BOOT_ID of SYNACK, that of HELLO", probe.session.bootID, is: tlvs)
    }

    Case(
      "LNK-12/random-at-boot",
      "BOOT_ID and the first session id are random: they differ from boot to boot, in each of their bytes",
      also: ["LNK-5"], needs: [.control]
    ) { probe, bench in
      // After 32 boots a bit that has not changed is not random, after six a byte that has not.
      let boots = bench.hasVirtualTime ? 32 : 6
      let (same, whole) = bench.hasVirtualTime ? (1 as UInt32, "bit") : (0xFF, "byte")
      var ids: [UInt32] = []
      var sessions: [UInt32] = []
      for boot in 0..<boots {
        // Memory that outlives a panic is no source of either.
        try await bench.restart(boot % 4 == 3 && bench.hasVirtualTime ? .panic : .software)
        try await probe.openSession()
        ids.append(UInt32(truncatingIfNeeded: probe.session.bootID ?? 0))
        sessions.append(UInt32(probe.session.id))
      }
      for (what, numbers, bits) in [("BOOT_ID", ids, 32), ("the first session id", sessions, 16)] {
        // Of 16 random bits some can be equal by chance.
        let equal = boots - Set(numbers).count
        probe.expect(
          equal <= (bits == 32 ? 0 : boots / 16 + 1), "\(what) is the same after several boots: \(numbers)")
        let changed = numbers.reduce(0) { $0 | ($1 ^ numbers[0]) }
        let fixed = stride(from: 0, to: bits, by: same.nonzeroBitCount).filter { changed >> $0 & same == 0 }
        probe.expect(fixed.isEmpty, "a \(whole) of \(what) is the same after each boot: \(numbers)")
      }
    }

    Case(
      "LNK-20/session-before-reboot",
      "Frames of the session before a restart are answered with RST with the new boot id",
      also: ["LNK-18", "LNK-23"], needs: [.control]
    ) { probe, bench in
      try await probe.open()
      let old = probe.session
      try await bench.restart()
      probe.session = old
      let rst = try await probe.ask(probe.data([0x0A, 3, 0], seq: 0), "RST") { $0.kind == .rst }
      probe.expect("session", rst.session, is: old.id)
      let tlvs = TLV.parse(rst.payload) ?? []
      probe.expect("REASON", tlvs.number(of: 0x14), is: 1)
      probe.expect(tlvs.number(of: 0x0A) != old.bootID, "RST carries the boot id from before the restart")
      try await probe.openSession()
      probe.expect("BOOT_ID of RST", tlvs.number(of: 0x0A), is: probe.session.bootID)
    }

    Case(
      "LNK-14/nonces-since-boot", "A restart forgets the nonces: an old one opens a session again",
      needs: [.control]
    ) { probe, bench in
      let tlvs = Probe.synTLVs(nonce: probe.makeNonce())
      try await probe.open(tlvs)
      try await probe.open()
      try await bench.restart()
      try await probe.open(tlvs)
      _ = try await probe.readCount()
    }

    Case(
      "FRM-1/half-frame-from-before",
      "Half a frame of a disconnected host does not swallow the next one's SYN", also: ["FRM-14"]
    ) { probe, _ in
      try await probe.open()
      let rest = probe.data([UInt8](repeating: 7, count: 400), channel: 2, seq: 0).bytes
      try await probe.write(Array(rest.prefix(200)))
      let tlvs = Probe.synTLVs(nonce: probe.makeNonce())
      try await probe.write(probe.syn(tlvs))
      let reply = try await probe.awaitFrame(.synAck)
      probe.expect("NONCE", TLV.parse(reply.payload)?.number(of: 0x82), is: tlvs.number(of: 0x82))
    }

    Case(
      "LNK-23/nothing-into-new-session", "Unacknowledged frames of a session are not sent in the next"
    ) { probe, _ in
      try await probe.open()
      try await probe.sendData([0x0A, 3, 0])
      _ = try await probe.awaitFrame(.data)
      try await probe.open()
      let frames = try await probe.frames(for: .milliseconds(600))
      probe.expect("DATA in the new session", frames.filter { $0.kind == .data }, is: [])
      _ = try await probe.readCount()
    }

    Case(
      "LNK-14/two-hosts", "If two hosts take turns, the last one to send SYN has the session",
      also: ["LNK-20"]
    ) { probe, _ in
      try await probe.open()
      let first = probe.session
      try await probe.open()
      let second = probe.session
      for _ in 0..<3 {
        probe.session = first
        let isFirstLive = try await probe.isSessionLive()
        probe.expect(!isFirstLive, "the first host's session is served")
        probe.session = second
        let isSecondLive = try await probe.isSessionLive()
        probe.expect(isSecondLive, "the second host's session is not served")
      }
    }

    Case(
      "LNK-12/many-sessions", "A hundred consecutive sessions: each works, none leaves state behind",
      also: ["LNK-14"]
    ) { probe, _ in
      try await probe.open()
      let count = try await probe.readCount()
      var ids: Set<UInt16> = []
      for _ in 0..<100 {
        try await probe.open()
        ids.insert(probe.session.id)
        let now = try await probe.readCount()
        guard now == count else { return probe.expect("Count", now, is: count) }
      }
      probe.expect("different session ids", ids.count, is: 100)
    }

    Case(
      "LNK-16/half-open", "A SYN whose host disconnects leaves the device ready for the next",
      also: ["LNK-14"]
    ) { probe, _ in
      for _ in 0..<20 { try await probe.write(probe.syn(Probe.synTLVs(nonce: probe.makeNonce()))) }
      try await probe.open()
      _ = try await probe.readCount()
    }

    Case(
      "LNK-53/after-down", "After a session went down a new one opens, and the store is still there",
      also: ["NTF-12"], needs: [.longWaits]
    ) { probe, bench in
      try await probe.openWide()
      try await probe.requireStoreRoom(1)
      try await probe.writeData(Sample.json("before the silence"))
      let before = try await probe.readCount()
      _ = try await probe.frames(for: .seconds(bench.hasVirtualTime ? 60 : 6))
      let isLive = try await probe.isSessionLive()
      probe.expect(!isLive, "the session outlived the silence")
      try await probe.open()
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
    }

    Case(
      "NTF-12/after-reboot", "After a restart Count matches the store, and new ones are accepted",
      also: ["NTF-10"], needs: [.control]
    ) { probe, bench in
      try await probe.openWide()
      try await probe.writeData(Sample.json("before the restart"))
      let before = try await probe.readCount()
      try await bench.restart()
      try await probe.openWide()
      let after = try await probe.readCount()
      probe.expect(after <= before, "Count grew from \(before) to \(after) over a restart")
      try await probe.writeData(Sample.json("after the restart"))
      let now = try await probe.readCount()
      probe.expect("Count", now, is: after + 1)
    }

    Case(
      "LNK-14/port-reopened", "A port closed in the middle of a frame and reopened works in the next session",
      also: ["NTF-12", "FRM-1"], needs: [.reopen]
    ) { probe, bench in
      try await probe.open()
      let count = try await probe.readCount()
      let rest = probe.data([UInt8](repeating: 7, count: 400), channel: 2, seq: probe.session.nextSeq).bytes
      for length in [1, 200, rest.count - 1] {
        try await probe.write(Array(rest.prefix(length)))
        try await bench.reopen()
        try await probe.open()
        let now = try await probe.readCount()
        probe.expect("Count after reopening after \(length) bytes", now, is: count)
      }
    }

    Case(
      "NTF-12/unplugged", "A pulled plug ends the port; after reinsertion, the same boot and store are there",
      also: ["LNK-12", "LNK-23"], needs: [.reopen, .control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await probe.openWide()
      try await probe.requireStoreRoom(1)
      try await probe.writeData(Sample.json("outlives the plug"))
      let count = try await probe.readCount()
      let bootID = probe.session.bootID
      try await control.perform(.unplug)
      var hasEnded = false
      do {
        while try await probe.nextItem(until: probe.now + .seconds(1)) != nil {}
      } catch is RigTrouble {
        hasEnded = true
      }
      probe.expect(hasEnded, "the port did not end")
      try await control.perform(.plug)
      try await bench.reopen()
      try await probe.open()
      probe.expect("BOOT_ID", probe.session.bootID, is: bootID)
      let after = try await probe.readCount()
      probe.expect("Count", after, is: count)
    }
  }
}
