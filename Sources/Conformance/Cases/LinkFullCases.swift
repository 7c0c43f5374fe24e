import NotibotProtocol
import SuiteWire

/// A device that cannot handle what it receives, because a request waits for room for its answer;
/// and a window that is full of frames after a hole.
extension Suite {
  static let linkFull = chapter(.link) {
    Case(
      "LNK-32/beyond-the-granted",
      "While a request waits, DATA beyond the credit or the bytes is dropped and answered with an ACK",
      also: ["LNK-40", "LNK-42", "LNK-44"]
    ) { probe, _ in
      for limit in ReceiveLimit.allCases {
        var attempts = 0
        try await probe.bestOfThree {
          attempts += 1
          try await probe.openShut()
          let waiting = try await probe.sendUntilOneWaits()
          guard try await probe.fill(limit, behind: waiting) else { return nil }
          let beyond = probe.session.nextSeq
          // The next number, a later one, and the next one again.
          var answers: [WireFrame?] = []
          for seq in [beyond, beyond &+ 1, beyond] {
            // An ACK less than 20 ms ago would be enough.
            _ = try await probe.frames(for: .milliseconds(25))
            try await probe.write(probe.data([0x55], channel: 2, seq: seq))
            let deadline = probe.now + .milliseconds(450)
            var answer: WireFrame?
            while answer == nil, let frame = try await probe.nextFrame(until: deadline) {
              if frame.session == probe.session.id, frame.kind != .udata { answer = frame }
            }
            answers.append(answer)
          }
          try await probe.write(probe.frame(.ping))
          let pong = try await probe.awaitFrame(.pong)
          guard pong.payload.first == waiting.handled else {
            guard attempts < 3 else { throw CaseEnd.skip("the device handles requests slowly") }
            return "a request waited only for a while"
          }
          guard pong.ack == beyond else {
            return "a frame beyond the \(limit.rawValue) is acknowledged"
          }
          for answer in answers {
            guard let answer else { return "a frame beyond the \(limit.rawValue) is not answered in 450 ms" }
            guard answer.ack == beyond else {
              return "the answer to a frame beyond the \(limit.rawValue) is \(answer), expected ack \(beyond)"
            }
          }
          return try await probe.flawOfAnswers(Int(waiting.sent))
        }
      }
    }

    Case(
      "LNK-42/fresh-after-waiting",
      "However a session ended while a request waited, the next one begins with all bytes, and without it",
      also: ["LNK-14", "LNK-23", "LNK-32", "LNK-44"]
    ) { probe, bench in
      for ending in SessionEnding.allCases where ending != .reset && ending.isPossible(on: bench) {
        try await probe.bestOfThree {
          try await probe.openShut()
          let before = try await probe.sendUntilOneWaits()
          let isBytes = try await probe.fill(.bytes, behind: before)
          if !isBytes { _ = try await probe.fill(.credit, behind: before) }
          try await ending.end(bench)
          try await probe.openShut()
          try await probe.expectUnused()
          let waiting = try await probe.sendUntilOneWaits()
          _ = try await probe.fill(isBytes ? .bytes : .credit, behind: waiting)
          guard let flaw = try await probe.flawOfAnswers(Int(waiting.sent)) else { return nil }
          return "\(flaw), after \(ending.rawValue)"
        }
      }
    }

    Case(
      "LNK-32/window-with-hole",
      "All frames of the window after a hole are kept and delivered in order, or all of them are dropped",
      also: ["LNK-30", "LNK-33"]
    ) { probe, _ in
      for isAtWrap in [false, true] {
        try await probe.open()
        let frames = probe.session.peerFrames
        if isAtWrap { try await probe.sendUnserved(256 - frames / 2) }
        let isHandled = try await probe.handlesAll()
        probe.expect(isHandled, "the device does not handle what it has received")
        let missing = probe.session.nextSeq
        let isPipelined = probe.session.features & 1 == 1
        // The last ones are requests. Read Blob with different offsets distinguishes the answers.
        let count = isPipelined ? min(probe.session.peerRequests, 8, frames - 1) : 1
        let frame = { (distance: Int) in
          let seq = missing &+ UInt8(distance)
          let offset = distance - (frames - count)
          return offset < 0
            ? probe.data([0x55], channel: 2, seq: seq) : probe.data([0x0C, 1, 0, UInt8(offset), 0], seq: seq)
        }
        try await probe.write(frame(frames - 1))
        let kind = try await probe.awaitNAK(missing: missing, held: [missing &+ UInt8(frames - 1)])
        switch kind {
        case .keeps:
          for distance in 1..<(frames - 1) { try await probe.write(frame(distance)) }
          let all = Wire.u64((1 << UInt64(frames - 1)) - 1)
          if frames > 2 {
            _ = try await probe.awaitFrame("bitmap of \(frames - 1) frames after \(missing)") {
              $0.kind == .nak && $0.payload == all && $0.ack == missing
            }
          }
          try await probe.write(frame(0))
        case .drops:
          // The last one was dropped too.
          for distance in 0..<(frames - 1) { try await probe.write(frame(distance)) }
          probe.expect("ack", try await probe.presentAck(), is: missing &+ UInt8(frames - 1))
          try await probe.write(frame(frames - 1))
        }
        probe.session.nextSeq = missing &+ UInt8(frames)
        for offset in 0..<count {
          let deadline = probe.now + Probe.patience
          let answer = try await probe.nextPDU(until: deadline)
          probe.expect(
            "answer \(offset) of \(count) after the hole at \(missing)", answer,
            is: [0x0D] + service.dropFirst(offset))
        }
        let more = try await probe.fence()
        probe.expect("further answers", more.filter { $0.kind == .data }, is: [])
        probe.expect("ack", try await probe.presentAck(), is: missing &+ UInt8(frames))
      }
    }
  }
}

/// What a device that handles nothing runs out of.
private enum ReceiveLimit: String, CaseIterable {
  case credit
  case bytes
}

/// Requests of which the device handles no more.
private struct WaitingRequests {
  let sent: UInt8
  let handled: UInt8
}

extension Probe {
  /// Sends reads until one of them waits, in a session in which no answer can be sent.
  fileprivate func sendUntilOneWaits() async throws -> WaitingRequests {
    let handled = try await fillRequests()
    return WaitingRequests(sent: session.nextSeq, handled: handled)
  }

  /// Sends frames behind waiting requests until a limit is reached exactly; each must be taken.
  ///
  /// - Returns: false if the credit ends before the bytes.
  fileprivate func fill(_ limit: ReceiveLimit, behind waiting: WaitingRequests) async throws -> Bool {
    // Whatever number a device announces.
    let unhandled = Int(waiting.sent &- waiting.handled)
    let count = session.peerFrames - unhandled
    guard count > 0 else { return limit == .credit }
    var sizes: [Int]
    switch limit {
    case .credit: sizes = [Int](repeating: 13, count: count)
    case .bytes:
      let bytes = session.peerBytes - 15 * unhandled
      sizes = [Int](repeating: 540, count: bytes / 540)
      if bytes % 540 > 0 { sizes.append(bytes % 540) }
      // A frame has at least 13 bytes: the previous one gives some away.
      if let last = sizes.last, last < 13, sizes.count > 1 {
        sizes[sizes.count - 2] -= 13
        sizes[sizes.count - 1] += 13
      }
      guard sizes.count < count else { return false }
    }
    for size in sizes { try await sendData([UInt8](repeating: 0x55, count: size - 12), channel: 2) }
    let taken = session.nextSeq
    _ = try await awaitFrame("acknowledgement of \(sizes.count) frames behind a waiting request") {
      $0.session == session.id && $0.ack == taken && $0.kind != .rst
    }
    return true
  }

  /// Grants all credit; what is wrong with the answers to `count` reads and what follows them.
  fileprivate func flawOfAnswers(_ count: Int) async throws -> String? {
    try await grantAll()
    for index in 0..<count {
      let deadline = now + Self.patience
      guard try await nextPDU(until: deadline)?.first == 0x0B else {
        return "answer \(index) of \(count) is missing"
      }
    }
    // The number that was dropped is taken now.
    try await awaitRoom()
    try await sendData([0x55], channel: 2)
    try await expectTaken("DATA after the answers to \(count) requests")
    let more = try await fence().filter { $0.kind == .data && $0.seq == session.expectedSeq }
    return more.isEmpty ? nil : "\(count) requests have more than \(count) answers"
  }

  /// The ack of a PONG.
  fileprivate func presentAck() async throws -> UInt8 {
    try await write(frame(.ping))
    return try await awaitFrame(.pong).ack
  }
}
