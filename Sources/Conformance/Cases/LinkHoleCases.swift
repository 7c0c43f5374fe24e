import NotibotProtocol
import SuiteWire

/// Holes in the host's frames. A device keeps the frames after a hole or drops them (LNK-32); its
/// first NAK shows which, and each case checks the consequences.
extension Suite {
  static let linkHoles = chapter(.link) {
    Case(
      "LNK-32/out-of-order",
      "A device requests the missing frame; it has kept or dropped early frames, as its NAK reports",
      also: ["LNK-33"]
    ) { probe, _ in
      try await probe.open()
      // 1 is a request, 0 is not: an answer shows that 1 was kept.
      try await probe.write(probe.data([0x0A, 3, 0], seq: 1))
      let kind = try await probe.awaitNAK(missing: 0, held: [1])
      try await probe.write(probe.data([0x55], channel: 2, seq: 0))
      switch kind {
      case .keeps:
        probe.session.nextSeq = 2
        let deadline = probe.now + Probe.patience
        let answer = try await probe.nextPDU(until: deadline)
        probe.expect("the answer to the kept frame", answer?.first, is: 0x0B)
      case .drops:
        probe.session.nextSeq = 1
        try await probe.expectTaken("the missing frame")
      }
      let more = try await probe.fence()
      probe.expect("further answers", more.filter { $0.kind == .data }, is: [])
      _ = try await probe.readCount()
    }

    Case(
      "LNK-33/one-nak-per-round",
      "One NAK per hole and round, or, with a bitmap, one for the hole and one for each second frame after it"
    ) { probe, bench in
      try await probe.open()
      guard probe.session.peerFrames >= 4 else { throw CaseEnd.skip("the device takes fewer than 4 frames") }
      var kind = HoleKind.keeps
      for round in 1...2 {
        for seq in [1, 2, 3] as [UInt8] { try await probe.write(probe.data([0x0A, 3, 0], seq: seq)) }
        // 1 is not above 3, the last one out of order: for a device that drops, this is a new
        // round.
        let answers = try await probe.fence() + probe.frames(for: .milliseconds(30))
        let naks = answers.filter { $0.kind == .nak }
        let first = try probe.require(naks.first, "no NAK for 1, 2, 3 in round \(round)")
        if round == 1 { kind = first.payload.isEmpty ? .drops : .keeps }
        switch kind {
        case .drops: probe.expect("NAKs for 1, 2, 3 in round \(round)", naks.count, is: 1)
        case .keeps:
          // The first and the third; each of them if there was a pause of 5 ms in between.
          let expected = bench.hasExactTime ? 2...2 : 1...3
          probe.expect(expected.contains(naks.count), "\(naks.count) NAKs for 1, 2, 3 in round \(round)")
          probe.expect("the last bitmap", naks.last?.payload, is: Wire.u64(0b111))
        }
        probe.expect("acks of the NAKs", Set(naks.map(\.ack)), is: [0])
        probe.expect("other answers", answers.filter { $0.kind != .nak && $0.kind != .ping }, is: [])
      }
    }

    Case(
      "LNK-33/second-hole",
      "A second hole is reported at once by a bitmap; without one, when it has become the first",
      also: ["LNK-32"]
    ) { probe, bench in
      try await probe.open()
      guard probe.session.peerFrames >= 4 else { throw CaseEnd.skip("the device takes fewer than 4 frames") }
      let unserved = { (seq: UInt8) in probe.data([0x55], channel: 2, seq: seq) }
      try await probe.write(unserved(1))
      let kind = try await probe.awaitNAK(missing: 0, held: [1])
      let start = probe.now
      try await probe.write(unserved(3))
      switch kind {
      case .keeps:
        _ = try await probe.awaitNAK(missing: 0, held: [1, 3])
        let passed = (probe.now - start).inMilliseconds
        probe.expect(
          passed <= (bench.hasExactTime ? 0 : 500), "the second hole was reported after \(passed) ms")
        // While a hole is open a NAK replaces the ACK.
        try await probe.write(unserved(0))
        _ = try await probe.awaitNAK(missing: 2, held: [3])
        try await probe.write(unserved(2))
      case .drops:
        try await probe.write(unserved(0))
        let between = try await probe.fence()
        probe.expect("NAKs before it is the first hole", between.filter { $0.kind == .nak }, is: [])
        try await probe.write(unserved(3))
        let later = try await probe.awaitNAK(missing: 1, held: [3])
        probe.expect("whether it still drops", later, is: .drops)
        for seq in [1, 2, 3] as [UInt8] { try await probe.write(unserved(seq)) }
      }
      probe.session.nextSeq = 4
      try await probe.expectTaken("all four")
    }

    Case(
      "LNK-33/filled-at-once", "When a hole is filled in the same burst, no later hole is requested",
      also: ["LNK-32", "LNK-50"]
    ) { probe, _ in
      try await probe.open()
      let farthest = UInt8(min(3, probe.session.peerFrames - 1))
      for ahead in [[1], [2], [1, 2], [3], [1, 3], [2, 1]] as [[UInt8]]
      where ahead.allSatisfy({ $0 <= farthest }) {
        let missing = probe.session.nextSeq
        let frames = (ahead + [0]).map { probe.data([0x55], channel: 2, seq: missing &+ $0) }
        try await probe.write(frames.flatMap(\.bytes))
        let answers = try await probe.fence() + probe.frames(for: .milliseconds(30))
        let naks = answers.filter { $0.kind == .nak }
        // A bitmap may report what is still missing, for frames that are kept.
        let later = naks.filter { $0.ack != missing && $0.payload.isEmpty }
        probe.expect("NAKs of a later hole for \(ahead) and the missing frame", later, is: [])
        if ahead.sorted() == Array(1...UInt8(ahead.count)) {
          probe.expect("NAKs after all holes are filled, \(ahead)", naks.filter { $0.ack != missing }, is: [])
        }
        for distance in 1...farthest {
          try await probe.write(probe.data([0x55], channel: 2, seq: missing &+ distance))
        }
        probe.session.nextSeq = missing &+ farthest &+ 1
        try await probe.expectTaken("the frames after \(ahead)")
      }
    }

    Case(
      "LNK-33/rounds",
      "A round begins only with a number not above the last one, whether or not that was requested",
      also: ["LNK-32"]
    ) { probe, bench in
      // One hole after the other, and each of them below 255.
      for start in bench.hasVirtualTime ? [0, 253] : [253] {
        try await probe.open()
        let farthest = UInt8(min(3, probe.session.peerFrames - 1))
        for ahead in numbersAhead
        where (bench.hasVirtualTime || ahead[0] == 1) && ahead.max() ?? 0 <= farthest {
          if start > 0 {
            try await probe.open()
            try await probe.sendUnserved(start)
          }
          try await probe.expectRounds(ahead, wait: .milliseconds(bench.hasExactTime ? 15 : 60))
          let missing = probe.session.nextSeq
          for distance in 0...farthest {
            try await probe.write(probe.data([0x55], channel: 2, seq: missing &+ distance))
          }
          probe.session.nextSeq = missing &+ farthest &+ 1
          try await probe.expectTaken("the missing frame and the following ones")
        }
      }
    }

    Case(
      "LNK-33/same-number-later", "A number is requested when it is missing again 256 frames later",
      also: ["LNK-30"]
    ) { probe, _ in
      try await probe.open()
      let farthest = UInt8(min(3, probe.session.peerFrames - 1))
      for distance in 1...farthest {
        let missing = probe.session.nextSeq
        try await probe.write(probe.data([0x55], channel: 2, seq: missing &+ distance))
        _ = try await probe.awaitNAK(missing: missing, held: [missing &+ distance])
        for seq in 0...distance { try await probe.write(probe.data([0x55], channel: 2, seq: missing &+ seq)) }
        probe.session.nextSeq = missing &+ distance &+ 1
        try await probe.expectTaken("\(distance) frames after the missing one")
        try await probe.sendUnserved(255 - Int(distance))
      }
    }

    Case(
      "LNK-32/nothing-twice", "With holes and duplicate frames each request is answered once, in order",
      also: ["LNK-33", "FRM-15"]
    ) { probe, _ in
      try await probe.open()
      try probe.requireRequests(4)
      // Read Blob with different offsets distinguishes the answers.
      let request = { (seq: UInt8) in probe.data([0x0C, 1, 0, seq, 0], seq: seq) }
      for seq in [1, 1, 3, 2, 3, 0, 0, 1, 2, 3, 3, 2] as [UInt8] { try await probe.write(request(seq)) }
      probe.session.nextSeq = 4
      let deadline = probe.now + Probe.patience
      for seq in 0..<4 {
        let answer = try await probe.nextPDU(until: deadline)
        probe.expect("answer \(seq)", answer, is: [0x0D] + service.dropFirst(seq))
      }
      let more = try await probe.fence()
      probe.expect("further answers", more.filter { $0.kind == .data }, is: [])
    }

    Case(
      "LNK-32/bytes-with-hole",
      "Frames after a hole are kept up to the granted bytes, and all that fit are accepted", also: ["LNK-42"]
    ) { probe, _ in
      try await probe.open()
      // The first is the missing one. Together they fill the bytes exactly, if the frames are
      // enough.
      let lengths = probe.payloadsFillingBytes ?? [Int](repeating: 528, count: probe.session.peerFrames)
      let frame = { (seq: Int) in
        probe.data([UInt8](repeating: 0x55, count: lengths[seq]), channel: 2, seq: UInt8(seq))
      }
      try await probe.write(frame(1))
      let kind = try await probe.awaitNAK(missing: 0, held: [1])
      for seq in 2..<max(2, lengths.count) { try await probe.write(frame(seq)) }
      try await probe.write(frame(0))
      switch kind {
      case .keeps: break
      case .drops: for seq in 1..<lengths.count { try await probe.write(frame(seq)) }
      }
      probe.session.nextSeq = UInt8(lengths.count)
      try await probe.expectTaken("\(lengths.count) frames of \(probe.session.peerBytes) bytes")
      _ = try await probe.readCount()
    }

    Case(
      "LNK-32/bytes-held", "Frames that are kept after a hole use up the granted bytes", also: ["LNK-42"]
    ) { probe, _ in
      try await probe.open()
      let bytes = probe.session.peerBytes
      // They leave 13 bytes for the missing frame, and none for another long one.
      var lengths = [Int](repeating: 528, count: bytes / 540)
      if bytes % 540 < 13 { lengths[0] -= 13 }
      let beyond = UInt8(lengths.count + 1)
      guard beyond < probe.session.peerFrames else {
        throw CaseEnd.skip(
          "the window ends before the bytes: \(probe.session.peerFrames) frames, \(bytes) bytes")
      }
      let frame = { (seq: UInt8, length: Int) in
        probe.data([UInt8](repeating: 0x55, count: length), channel: 2, seq: seq)
      }
      try await probe.write(frame(1, lengths[0]))
      let kind = try await probe.awaitNAK(missing: 0, held: [1])
      for seq in 2..<beyond { try await probe.write(frame(seq, lengths[Int(seq) - 1])) }
      try await probe.write(frame(beyond, 528))
      try await probe.write(frame(0, 1))
      if kind == .drops { for seq in 1..<beyond { try await probe.write(frame(seq, lengths[Int(seq) - 1])) } }
      probe.session.nextSeq = beyond
      try await probe.expectTaken("all but the frame beyond the \(bytes) bytes")
    }
  }

  /// Three numbers each, by their distance from the missing one.
  private static let numbersAhead: [[UInt8]] = (0..<27).map { [$0 / 9 + 1, $0 / 3 % 3 + 1, $0 % 3 + 1] }
}

/// How a device handles frames after a hole (LNK-32).
enum HoleKind: Equatable {
  case keeps
  case drops
}

extension Probe {
  /// The next NAK. One with a bitmap must name exactly the frames of `held`; one without is from a
  /// device that drops them.
  func awaitNAK(
    missing: UInt8, held: [UInt8], file: String = #fileID, line: Int = #line
  ) async throws -> HoleKind {
    let nak = try await awaitFrame(.nak, file: file, line: line)
    expect("ack of the NAK", nak.ack, is: missing, file: file, line: line)
    guard !nak.payload.isEmpty else { return .drops }
    let bitmap = Wire.bitmap(of: held.map { Int($0 &- missing) }, beyond: 0)
    expect("bitmap of the NAK", nak.payload, is: Wire.u64(bitmap), file: file, line: line)
    return .keeps
  }

  /// Sends frames after the missing one and notes a finding unless they are requested according to
  /// LNK-33.
  ///
  /// - Parameters:
  ///   - ahead: their distances from the missing one.
  ///   - wait: the time limit of a NAK; a bitmap waits 10 ms at most.
  fileprivate func expectRounds(_ ahead: [UInt8], wait: Duration) async throws {
    let missing = session.nextSeq
    var (held, last): (UInt64, UInt8) = (0, .max)
    for (index, distance) in ahead.enumerated() {
      let what = "the last of \(ahead.prefix(index + 1)) ahead of \(missing)"
      // A number outside the window is not part of a round.
      for seq in index == 0 ? [] : [missing &- 1, missing &+ UInt8(session.peerFrames)] {
        try await write(data([0x55], channel: 2, seq: seq))
      }
      try await write(data([0x55], channel: 2, seq: missing &+ distance))
      held |= 1 << UInt64(distance - 1)
      let naks = try await frames(for: wait).filter { $0.kind == .nak }
      expect(naks.allSatisfy { $0.ack == missing }, "acks of NAKs for \(what): \(naks)")
      if naks.contains(where: { !$0.payload.isEmpty }) {
        expect("the last bitmap for \(what)", naks.last?.payload, is: Wire.u64(held))
      } else {
        expect("NAKs for \(what)", naks.count, is: distance <= last ? 1 : 0)
      }
      last = distance
    }
  }
}
