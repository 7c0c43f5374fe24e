import NotibotProtocol
import SuiteWire

/// Compares frames of the device with the model.
extension LinkModel {
  /// The earliest time of a resend by the timer (LNK-55), less rounding.
  private static let resendLeast = Duration.milliseconds(99)
  /// The earliest time of a PING after silence (LNK-55), less rounding.
  private static let pingLeast = Duration.milliseconds(499)

  /// Takes a frame of the device. Returns its flaw, or nil.
  mutating func send(_ frame: WireFrame, at now: Instant) -> String? {
    if frame.kind == .udata { return nil }
    // An ACK is handled below: it can also belong to a live session.
    if frame.kind == .rst || frame.kind == .synAck, let answer = LinkAnswer(frame) {
      due.isAnswered = due.isAnswered || frame.kind == .synAck
      return removeDue(answer) ? nil : "not due, but \(due.answers)"
    }
    if due.ended.contains(frame.session) {
      // The device can have sent it before the session ended.
      let isFIN = frame.kind == .ack && removeDue(.ack(session: frame.session))
      due.isAnswered = due.isAnswered || isFIN
      return isFIN || !due.isAnswered ? nil : "of a session that is over"
    }
    guard var session, session.id == frame.session else { return "of another session" }
    guard session.isConfirmed else { return "of a session that no frame has confirmed" }
    if let flaw = receipt(frame, in: &session, at: now) { return flaw }
    let flaw: String? =
      switch frame.kind {
      case .data: data(frame, in: &session, at: now)
      case .nak: nak(frame, in: session)
      case .ping: now - session.lastReceived < Self.pingLeast ? "before 500 ms of silence" : nil
      case .pong: pong(frame, in: session)
      case .ack: nil
      case .hello, .syn, .synAck, .udata, .rst, .fin: "not expected"
      }
    self.session = session
    return flaw
  }

  /// Removes a due answer. Returns false if it is not due.
  private mutating func removeDue(_ answer: LinkAnswer) -> Bool {
    if due.optional.contains(answer) { return true }
    guard let index = due.answers.firstIndex(of: answer) else { return false }
    due.answers.remove(at: index)
    return true
  }

  /// ack and credit. Source: LNK-30, LNK-40.
  private mutating func receipt(_ frame: WireFrame, in session: inout Session, at now: Instant) -> String? {
    let received = session.acknowledged + Int(frame.ack &- UInt8(truncatingIfNeeded: session.acknowledged))
    guard received <= session.expected else {
      return "its ack is beyond \(session.expected), or less than before"
    }
    guard due.isBurst || received == session.expected else { return "its ack is not \(session.expected)" }
    session.acknowledged = received
    let granted = received + Int(frame.credit)
    guard frame.credit <= 64, (session.granted...session.expected + deviceFrames).contains(granted) else {
      return "ack + credit is \(granted), expected \(session.granted) to \(session.expected + deviceFrames)"
    }
    session.granted = granted
    due.isAcknowledged = true
    session.lastAcknowledged = now
    return nil
  }

  private mutating func data(_ frame: WireFrame, in session: inout Session, at now: Instant) -> String? {
    let number = session.oldest + Int(frame.seq &- UInt8(truncatingIfNeeded: session.oldest))
    defer {
      session.transmissions += 1
      session.lastSent[number] = session.transmissions
    }
    if number == session.next { return newData(frame, in: &session, at: now) }
    guard session.sent.contains(number) else {
      return "its number is neither the next one nor unacknowledged"
    }
    guard session.payloads[number] == frame.payload else { return "sent again with another payload" }
    let isForNAK = due.again.remove(number) != nil || due.hasNAK && number >= due.next
    let isTimer = now == session.resendTime || now - session.timerStart >= Self.resendLeast
    guard isForNAK || isTimer else { return "sent again without a cause" }
    if !isForNAK { session.resendTime = now }
    session.timerStart = now
    return nil
  }

  /// Source: LNK-41, LNK-42, LNK-43.
  private func newData(_ frame: WireFrame, in session: inout Session, at now: Instant) -> String? {
    guard frame.channel == 4, let response = session.responses.first, response == frame.payload else {
      return "no request has this response; due is \(session.responses.first.map { Wire.hex($0) } ?? "none")"
    }
    guard session.next < session.limit else { return "beyond the limit of \(session.limit)" }
    guard session.sent.count < unacknowledgedLimit else {
      return "more than \(unacknowledgedLimit) unacknowledged"
    }
    session.responses.removeFirst()
    if session.sent.isEmpty { session.timerStart = now }
    session.payloads[session.next] = response
    session.firstSent[session.next] = session.transmissions + 1
    session.next += 1
    let bytes = session.unhandledBytes
    return bytes > session.bytes ? "\(bytes) bytes are not handled, of \(session.bytes)" : nil
  }

  private mutating func nak(_ frame: WireFrame, in session: Session) -> String? {
    let isPresent = frame.ack == UInt8(truncatingIfNeeded: session.expected)
    guard keeps else {
      due.allHoles -= 1
      due.holeNAKs += isPresent ? 1 : 0
      return !frame.payload.isEmpty
        ? "a bitmap of a device that drops frames"
        : due.allHoles < 0 || due.holeNAKs > due.holes ? "no hole requires it" : nil
    }
    guard frame.payload.count == 8 else { return "no bitmap of a device that keeps frames" }
    due.bitmap = isPresent ? Wire.number(frame.payload) : nil
    return due.isBurst ? nil : "not after a frame out of order"
  }

  private mutating func pong(_ frame: WireFrame, in session: Session) -> String? {
    due.pongs -= 1
    let least = session.granted - deviceFrames
    guard let handled = frame.payload.first, frame.payload.count == 1,
      Int(handled &- UInt8(truncatingIfNeeded: least)) <= session.expected - least
    else { return "handled is not between \(least) and \(session.expected)" }
    return due.pongs < 0 ? "no PING requires it" : nil
  }

  /// Ends the burst. Returns the first required frame that is missing, or nil.
  mutating func missing() -> String? {
    defer { due = Due(start: due.start) }
    guard due.answers.isEmpty else { return "\(due.answers)" }
    guard let session, session.isConfirmed else { return nil }
    guard due.pongs == 0 else { return "\(due.pongs) PONGs" }
    if due.isTaken, session.acknowledged != session.expected { return "an ack of \(session.expected)" }
    let isAcknowledged = due.isAcknowledged || due.start - session.lastAcknowledged < .milliseconds(20)
    if due.isOutOfWindow, !isAcknowledged { return "an ACK of a frame outside the window" }
    if !keeps, due.holes > 0, due.holeNAKs == 0 { return "a NAK of \(session.expected)" }
    if keeps, due.reportsHeld, !session.held.isEmpty {
      let bitmap = Wire.bitmap(of: session.held.keys, beyond: session.expected)
      guard due.bitmap == bitmap else { return "a bitmap of \(session.held.keys.sorted())" }
    }
    let again = due.again.filter { $0 >= session.oldest }
    guard again.isEmpty else { return "\(again.sorted()) again, for a NAK" }
    if let response = session.responses.first, session.sent.isEmpty, session.next < session.limit,
      session.unhandledBytes + response.count + 12 <= session.bytes
    {
      return "the response \(Wire.hex(response))"
    }
    return nil
  }
}
