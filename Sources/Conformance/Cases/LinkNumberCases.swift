import NotibotProtocol
import SuiteWire

/// ack, credit and bitmaps: in which frames they count, and from which number they are counted.
extension Suite {
  static let linkNumbers = chapter(.link) {
    Case(
      "LNK-31/numbers-of-dropped",
      "ack and credit of DATA that is dropped count, those of a malformed frame do not",
      also: ["LNK-3", "LNK-32", "LNK-41"]
    ) { probe, _ in
      for kind in CarrierKind.allCases {
        try await probe.bestOfThree {
          try await probe.openShut()
          try await probe.sendData([0x0A, 3, 0])
          let early = try await probe.fence()
          probe.expect("DATA without credit", early.filter { $0.kind == .data }, is: [])
          let carrier = kind.frame(probe)
          try await probe.write(carrier.with(ack: 0, credit: 1))
          if kind.isMalformed {
            let sent = try await probe.fence() + probe.frames(for: probe.settleTime)
            probe.expect("DATA granted by \(kind.rawValue)", sent.filter { $0.kind == .data }, is: [])
            try await probe.grant(1)
          }
          _ = try await probe.awaitFrame("the answer after a credit of 1 by \(kind.rawValue)") {
            $0.kind == .data && $0.seq == 0
          }
          try await probe.write(carrier.with(ack: 1, credit: 0))
          _ = try await probe.fence()
          // Its ack is possible only while the answer is unacknowledged.
          try await probe.write(probe.frame(.nak).with(ack: 0, credit: 0))
          if kind.isMalformed {
            _ = try await probe.awaitFrame("the answer again, after an ack in \(kind.rawValue)") {
              $0.kind == .data && $0.seq == 0
            }
            return nil
          }
          let sent = try await probe.fence().filter { $0.kind == .data }
          return sent.isEmpty
            ? nil : "the answer is sent again, although \(kind.rawValue) has acknowledged it"
        }
      }
    }

    Case(
      "LNK-33/bitmap-from-ack", "The bits of a NAK are counted from its own ack, modulo 256",
      also: ["LNK-30", "LNK-31", "LNK-34"]
    ) { probe, _ in
      var attempts = 0
      try await probe.bestOfThree {
        attempts += 1
        try await probe.open()
        let isSerial = probe.session.features & 1 == 0 || probe.session.peerRequests < 4
        let first: UInt8 = isSerial ? 255 : 254
        while probe.session.expectedSeq != first { _ = try await probe.readCount() }
        // Count of the unacknowledged answers; ack, held number, and the numbers to be sent again.
        // The second NAK acknowledges one more if there are four.
        let rows: [(count: Int, ack: UInt8, held: UInt8, again: [UInt8])] =
          isSerial
          ? [(2, 255, 0, [255]), (2, 1, 2, [1])]
          : [(4, 254, 0, [254, 255]), (4, 3, 5, [3, 4])]
        for row in rows {
          let start = probe.now
          let sent = try await probe.answersTogether(row.count)
          let bitmap = 1 << UInt64(row.held &- row.ack &- 1) as UInt64
          try await probe.write(probe.frame(.nak, payload: Wire.u64(bitmap)).with(ack: row.ack))
          var again = try await probe.fence().filter { $0.kind == .data }
          let passed = (probe.now - start).inMilliseconds
          // PONG can overtake them.
          let deadline = probe.now + .milliseconds(100)
          while again.count < row.again.count, let frame = try await probe.nextFrame(until: deadline) {
            if frame.kind == .data { again.append(frame) }
          }
          guard again.map(\.seq) == row.again else {
            let what = "numbers of \(sent.map(\.seq)) sent again with \(row.held) held and ack \(row.ack)"
            // The resend timer can have expired.
            guard passed >= 95 else { return "\(what): \(again.map(\.seq)), expected \(row.again)" }
            guard attempts < 3 else { throw CaseEnd.skip("the resend timer is faster than the line") }
            return what
          }
          probe.session.expectedSeq &+= UInt8(row.count)
          try await probe.write(probe.frame(.ack))
          _ = try await probe.fence()
        }
        return nil
      }
    }

    Case(
      "LNK-31/impossible-acks",
      "PING with an impossible ack is answered by PONG, a bitmap with one is ignored",
      also: ["LNK-34", "LNK-51", "LNK-52"]
    ) { probe, _ in
      // 1 and 2 are unacknowledged. Its bits name 2, and frames that were never sent.
      let impossible = [0, 4, 9, 100, 129, 255] as [UInt8]
      let naks = { (acks: [UInt8]) in
        acks.flatMap { probe.frame(.nak, payload: Wire.u64(.max)).with(ack: $0).bytes }
      }
      try await probe.bestOfThree {
        try await probe.open()
        _ = try await probe.readCount()
        let start = probe.now
        _ = try await probe.unacknowledgedAnswers(2)
        try await probe.write(naks(impossible))
        let again = try await probe.fence().filter { $0.kind == .data }
        // The resend timer can have expired.
        guard again.isEmpty || (probe.now - start).inMilliseconds >= 95 else {
          return "DATA is sent again for a bitmap with an impossible ack: \(again)"
        }
        return nil
      }
      for ack in impossible {
        try await probe.write(probe.frame(.ping).with(ack: ack))
        _ = try await probe.awaitFrame("PONG to PING with ack \(ack)") { $0.kind == .pong }
      }
      // Nor do such bitmaps delay the resend timer, or keep a frame from it.
      let deadline = probe.now + Probe.patience
      var resent: Set<UInt8> = []
      while resent != [1, 2], probe.now < deadline {
        try await probe.write(naks([0, 9]))
        for frame in try await probe.frames(for: .milliseconds(60)) where frame.kind == .data {
          resent.insert(frame.seq)
        }
      }
      probe.expect("the frames that the timer sends again", resent.sorted(), is: [1, 2])
      probe.session.expectedSeq = 3
      try await probe.write(probe.frame(.ack))
      _ = try await probe.readCount()
    }

    Case(
      "LNK-31/other-effects", "A frame with an impossible ack confirms a session, keeps it and ends it",
      also: ["LNK-16", "LNK-24", "LNK-53"]
    ) { probe, bench in
      for ack in [1, 100, 255] as [UInt8] {
        try await probe.openSession(isAcknowledged: false)
        try await probe.write(probe.frame(.ping).with(ack: ack))
        _ = try await probe.awaitFrame("PONG to a first PING with ack \(ack)") { $0.kind == .pong }
        if bench.hasVirtualTime {
          for _ in 0..<6 {
            _ = try await probe.frames(for: .seconds(1))
            try await probe.write(probe.frame(.pong, payload: [0]).with(ack: ack))
          }
          let isLive = try await probe.isSessionLive()
          probe.expect(isLive, "a PONG with ack \(ack) each second does not keep the session")
        }
        try await probe.write(probe.frame(.fin).with(ack: ack))
        _ = try await probe.awaitFrame("ACK of a FIN with ack \(ack)") { $0.kind == .ack }
        let isLive = try await probe.isSessionLive()
        probe.expect(!isLive, "a FIN with ack \(ack) does not end the session")
      }
    }

    Case(
      "LNK-13/hole-stays",
      "A SYN that is repeated, ignored or refused does not affect the frames after a hole",
      also: ["LNK-14", "LNK-19", "LNK-32"]
    ) { probe, _ in
      let old = Probe.synTLVs(nonce: probe.makeNonce())
      try await probe.open(old)
      let usual = Probe.synTLVs(nonce: probe.makeNonce())
      let critical = Probe.synTLVs(nonce: probe.makeNonce()) + [TLV(0xC0, [])]
      for (what, tlvs) in [("repeated", usual), ("ignored", old), ("refused", critical)] {
        try await probe.open(what == "repeated" ? usual : Probe.synTLVs(nonce: probe.makeNonce()))
        let early = probe.data([0x0A, 3, 0], seq: 1)
        try await probe.write(early)
        let kind = try await probe.awaitNAK(missing: 0, held: [1])
        // 2 is above 1, the last one: a device that drops requests nothing. 1 begins a new round.
        let ahead = (probe.session.peerFrames > 2 ? [2] : []) + [1] as [UInt8]
        for seq in ahead {
          try await probe.write(probe.syn(tlvs))
          let answers = try await probe.fence() + probe.frames(for: probe.settleTime)
          probe.expect("DATA after a SYN that is \(what)", answers.filter { $0.kind == .data }, is: [])
          try await probe.write(seq == 1 ? early : probe.data([0x55], channel: 2, seq: seq))
          if kind == .keeps || seq == 1 {
            let later = try await probe.awaitNAK(missing: 0, held: Array(1...ahead[0]))
            probe.expect("whether it drops after a SYN that is \(what)", later, is: kind)
          } else {
            let naks = try await probe.fence().filter { $0.kind == .nak }
            probe.expect("NAKs for 2 after 1 and a SYN that is \(what)", naks, is: [])
          }
        }
        try await probe.write(probe.data([0x55], channel: 2, seq: 0))
        if kind == .drops { try await probe.write(early) }
        probe.session.nextSeq = kind == .keeps ? ahead[0] + 1 : 2
        let deadline = probe.now + Probe.patience
        let answer = try await probe.nextPDU(until: deadline)
        probe.expect("the answer after a SYN that is \(what)", answer?.first, is: 0x0B)
      }
    }
  }
}

/// Frames that do not take effect, by what is wrong with them.
private enum CarrierKind: String, CaseIterable {
  case old = "DATA that was received already"
  case early = "DATA out of order"
  case far = "DATA beyond the window"
  case halfBitmap = "a NAK of 3 bytes"
  case emptyPong = "PONG without payload"
  case emptyData = "DATA without payload"

  var isMalformed: Bool {
    switch self {
    case .old, .early, .far: false
    case .halfBitmap, .emptyPong, .emptyData: true
    }
  }

  /// The frame after one request.
  func frame(_ probe: Probe) -> WireFrame {
    switch self {
    case .old: probe.data([0x0A, 3, 0], seq: 0)
    case .early: probe.data([0x55], channel: 2, seq: 2)
    case .far: probe.data([0x55], channel: 2, seq: UInt8(1 + probe.session.peerFrames))
    case .halfBitmap: probe.frame(.nak, payload: [0, 0, 0])
    case .emptyPong: probe.frame(.pong)
    case .emptyData: probe.data([], seq: 1)
    }
  }
}
