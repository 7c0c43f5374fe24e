import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// Load: properties of the protocol that must hold when the line is full. No wall time is judged on
/// a real computer.
extension Suite {
  static let throughput = chapter(.throughput) {
    Case(
      "ATT-6/full-window",
      "500 requests with the window always full: all answered, in order, none beyond the credit",
      also: ["LNK-40", "LNK-41", "LNK-30"]
    ) { probe, _ in
      try await probe.openPipelined()
      let window = probe.session.peerRequests
      var sent = 0
      var answered = 0
      let deadline = probe.now + .seconds(20)
      while answered < 500 {
        var burst: [UInt8] = []
        while sent < 500, sent - answered < window, probe.session.room > 0 {
          burst += probe.data([0x0C, 1, 0, UInt8(sent % 15), 0], seq: probe.session.nextSeq).bytes
          probe.session.nextSeq &+= 1
          probe.session.room -= 1
          sent += 1
        }
        if !burst.isEmpty { try await probe.write(burst) }
        let reply = try probe.require(
          try await probe.nextPDU(until: deadline),
          "answer \(answered) of 500 is missing, \(sent) requests are outstanding")
        let expected = [0x0D] + service.dropFirst(answered % 15)
        guard reply == expected else { return probe.expect("answer \(answered)", reply, is: expected) }
        answered += 1
      }
    }

    Case(
      "ATT-5/writes-in-order", "Writes and a read sent at once are answered in order, and all are stored",
      also: ["ATT-6", "ATT-18", "NTF-10"]
    ) { probe, _ in
      try await probe.openForExpiring()
      guard probe.session.features & 1 == 1 else {
        throw CaseEnd.skip("the device takes one request at a time")
      }
      let json = { (index: Int) in probe.expiring(Sample.json("burst \(index)")) }
      // A long write is a barrier.
      try probe.requireMTU(3 + json(0).count)
      let hasRead = probe.session.peerRequests > 1
      let window = hasRead ? min(probe.session.peerRequests, 8) - 1 : 1
      try await probe.requireStoreRoom(window)
      try await probe.request(Wire.literal("12 0400 0100"))
      let before = try await probe.readCount()
      var burst: [UInt8] = []
      for index in 0..<window {
        burst += probe.data([0x12, 6, 0] + json(index), seq: probe.session.nextSeq).bytes
        probe.session.nextSeq &+= 1
      }
      if hasRead {
        burst += probe.data([0x0A, 3, 0], seq: probe.session.nextSeq).bytes
        probe.session.nextSeq &+= 1
      }
      try await probe.write(burst)
      let deadline = probe.now + Probe.patience
      var answers = 0
      var isRead = !hasRead
      var lastCount = before
      while answers < window || !isRead || lastCount < before + window,
        let pdu = try await probe.nextPDU(until: deadline)
      {
        if pdu == [0x13] {
          answers += 1
        } else if pdu.first == 0x0B {
          isRead = true
          probe.expect("answers before that of the read", answers, is: window)
          probe.expect("Count in it", Int(Wire.word(pdu, at: 1)), is: before + window)
        } else {
          let count = Int(Wire.word(pdu, at: 3))
          probe.expect(
            pdu.first == 0x1B && count > lastCount && count <= before + answers,
            "[\(Wire.hex(pdu))] after \(answers) answers, Count was \(before) before them")
          lastCount = count
        }
      }
      probe.expect("answers", answers, is: window)
      probe.expect(isRead, "the read is not answered")
      probe.expect("the last reported count", lastCount, is: before + window)
    }

    Case(
      "FRM-14/text-under-load", "Console text during a full window costs no frame and no text",
      also: ["FRM-6"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await probe.openPipelined()
      for round in 0..<10 {
        var burst: [UInt8] = []
        for _ in 0..<4 {
          burst += probe.data([0x0A, 1, 0], seq: probe.session.nextSeq).bytes
          probe.session.nextSeq &+= 1
        }
        try await probe.write(burst)
        try await control.perform(.log("W (\(round)) load: line of round \(round)"))
        let deadline = probe.now + Probe.patience
        for _ in 0..<4 {
          let reply = try await probe.nextPDU(until: deadline)
          probe.expect("an answer in round \(round)", reply, is: [0x0B] + service)
        }
      }
      _ = try await probe.requestFence()
      let text = String(decoding: probe.textReceived, as: UTF8.self)
      for round in 0..<10 {
        probe.expect(
          text.contains("load: line of round \(round)"), "the line of round \(round) is not complete")
      }
    }
  }
}
