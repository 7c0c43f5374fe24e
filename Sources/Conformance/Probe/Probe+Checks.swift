import NotibotProtocol
package import SuiteWire

/// Checks that many cases share.
extension Probe {
  /// Notes a finding unless the peer acknowledges everything sent so far. Answered DATA needs no
  /// such check.
  package func expectTaken(_ what: String, file: String = #fileID, line: Int = #line) async throws {
    let expected = session.nextSeq
    let deadline = now + Self.patience
    while let frame = try await nextFrame(until: deadline) {
      session.observe(frame)
      if frame.session == session.id, frame.ack == expected, frame.kind != .rst { return }
    }
    expect(false, "\(what): not acknowledged", file: file, line: line)
  }

  /// Whether the device handles everything that was sent; its PONGs count that.
  package func handlesAll(within limit: Duration = patience) async throws -> Bool {
    let deadline = now + limit
    repeat {
      try await write(frame(.ping))
      let pong = try await awaitFrame(.pong)
      session.observe(pong)
      if pong.payload.first == session.nextSeq { return true }
      _ = try await frames(for: .milliseconds(20))
    } while now < deadline
    return false
  }

  /// Notes a finding if a frame that `matches` is received within a short time.
  package func expectNone(
    _ what: String, within interval: Duration = .milliseconds(30), file: String = #fileID, line: Int = #line,
    where matches: (WireFrame) -> Bool
  ) async throws {
    for frame in try await frames(for: interval) where matches(frame) {
      expect(false, "unexpected \(what): \(frame)", file: file, line: line)
    }
  }

  /// Writes a message that must not be answered, and verifies that with a fence.
  package func expectUnanswered(
    _ what: String, _ bytes: [UInt8], file: String = #fileID, line: Int = #line
  ) async throws {
    try await write(bytes)
    let answers = try await requestFence(file: file, line: line)
    expect("answers to \(what)", answers, is: [], file: file, line: line)
  }

  /// Returns when the device has handled all that was sent (LNK-52).
  func awaitHandled(_ what: String, file: String = #fileID, line: Int = #line) async throws {
    let sent = session.nextSeq
    _ = try await ask(frame(.ping), "PONG that counts \(what) as handled", file: file, line: line) {
      $0.kind == .pong && $0.payload.first == sent
    }
  }

  /// Makes up to three attempts, and notes the flaw of the last one if each has one: a timer of the
  /// device, or a computer that is busy, can interfere with an attempt.
  func bestOfThree(
    file: String = #fileID, line: Int = #line, _ attempt: () async throws -> String?
  ) async throws {
    var flaw: String?
    for _ in 0..<3 {
      flaw = try await attempt()
      guard flaw != nil else { return }
    }
    expect(false, flaw ?? "", file: file, line: line)
  }
}

extension Duration {
  /// This duration in milliseconds, for messages and comparisons with a tolerance.
  package var inMilliseconds: Double { Double(wholeNanoseconds) / 1_000_000 }
}
