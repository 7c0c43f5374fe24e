import DequeModule
import NotibotProtocol

/// Sent frames, and the timers. Source: PROTOCOL.md LNK-10, LNK-16, LNK-50 to LNK-53.
extension DeviceLink {
  /// Sets the time, and handles what is due.
  mutating func handleTimeout(now: Instant) {
    clock = now
    if hellosLeft > 0, now >= helloDeadline { scheduleHello() }
    guard let end = withSession({ $0.handleTimeout(now: now) }) ?? nil else { return }
    if end == .silence { counters.silences += 1 }
    self.end(end)
  }

  /// The next frame for the line; nil if none is due.
  mutating func nextFrame() -> Frame? {
    if let reply = replies.popFirst() { return timed(reply) }
    if isHelloDue {
      isHelloDue = false
      return timed(hello)
    }
    let freeAt = max(lineFreeAt, clock)
    var tally = counters
    let rate = lineBitsPerSecond
    let frame = withSession { session in
      session.nextFrame(lineFreeAt: freeAt, bitsPerSecond: rate, counters: &tally)
    }
    counters = tally
    guard let frame = frame ?? nil else { return nil }
    return timed(frame)
  }

  private var hello: Frame {
    let payload = Hello(
      bootID: boot.id, bootCount: boot.count, resetReason: boot.reason, deviceID: identity.deviceID,
      firmwareName: identity.firmwareName, firmwareVersion: identity.firmwareVersion)
    return Frame(FrameHeader(type: .hello, direction: .fromDevice), payload: payload.encoded())
  }

  /// Calculates when the frame will have left.
  private mutating func timed(_ frame: Frame) -> Frame {
    if let rate = lineBitsPerSecond {
      lineFreeAt = max(lineFreeAt, clock) + frame.lineTime(at: rate)
    }
    return frame
  }
}

extension Frame {
  /// The time of the frame on a line: decoded bytes, stuffing and two zeros, ten bits each.
  fileprivate func lineTime(at bitsPerSecond: UInt32) -> Duration {
    PacedWire.lineTime(ofBytes: decodedLengthBytes + decodedLengthBytes / 254 + 3, at: bitsPerSecond)
  }
}

extension DeviceSession {
  /// Calls `visit` with each pending deadline.
  func deadlines(_ visit: (Instant) -> Void) {
    switch phase {
    case .offered:
      break
    case .closing(let deadline):
      visit(deadline)
    case .open:
      if let resendDeadline { visit(resendDeadline) }
      if case .at(let moment) = ackDue { visit(moment) }
      if let bitmapDeadline { visit(bitmapDeadline) }
      visit(pingDeadline)
      visit(lastReceived + DeviceLink.downTime)
    }
  }

  /// Handles what is due. Returns the reason if the session ends.
  mutating func handleTimeout(now: Instant) -> DeviceLink.SessionEnd? {
    switch phase {
    case .offered: return nil
    case .closing(let deadline): return now >= deadline ? .closed : nil
    case .open: break
    }
    if now - lastReceived >= DeviceLink.downTime { return .silence }
    if case .at(let moment) = ackDue, now >= moment { ackDue = .now }
    if let deadline = bitmapDeadline, now >= deadline {
      bitmapDeadline = nil
      isNakDue = true
    }
    if now >= pingDeadline {
      isPingDue = true
      pingDeadline = now + DeviceLink.pingInterval
    }
    if let deadline = resendDeadline, now >= deadline { expire(now: now) }
    return nil
  }

  /// Source: PROTOCOL.md LNK-51.
  private mutating func expire(now: Instant) {
    if lastReceived <= resendStartedAt { resendTimer.backOff() }
    resendStartedAt = now
    sendAgain()
    resendDeadline = now + resendTimer.wait
  }

  /// The next frame of the session; nil if none is due.
  mutating func nextFrame(
    lineFreeAt: Instant, bitsPerSecond: UInt32?, counters: inout LinkCounters
  ) -> Frame? {
    if isSynackDue {
      isSynackDue = false
      return synack
    }
    guard phase == .open else { return nil }
    if pongsDue > 0 {
      pongsDue -= 1
      return markReported(
        Frame(header(.pong), payload: Pong(handled: UInt8(truncatingIfNeeded: handled)).encoded()))
    }
    if isNakDue { return nak(counters: &counters) }
    if dueCount > 0, let index = nextDueIndex {
      return markReported(
        sendData(at: index, lineFreeAt: lineFreeAt, bitsPerSecond: bitsPerSecond, counters: &counters))
    }
    if isPingDue {
      isPingDue = false
      return markReported(Frame(header(.ping)))
    }
    if ackDue == .now { return isKeeping ? nak(counters: &counters) : markReported(Frame(header(.ack))) }
    return nil
  }

  /// Reports the missing frame, and the kept ones if frames are kept at all. Source: PROTOCOL.md
  /// LNK-33.
  private mutating func nak(counters: inout LinkCounters) -> Frame {
    isNakDue = false
    bitmapDeadline = nil
    counters.naksSent += 1
    switch exchange(&outOfOrder, with: .dropped(nil)) {
    case .dropped(let hole):
      outOfOrder = .dropped(hole)
      return markReported(Frame(header(.nak)))
    case .kept(let kept, _):
      outOfOrder = .kept(kept, unreported: 0)
      return markReported(Frame(header(.nak), payload: Nak(held: kept.bitmap).encoded()))
    }
  }

  /// The first frame that is due and that the peer's limits allow. Source: PROTOCOL.md LNK-41,
  /// LNK-42.
  private var nextDueIndex: Int? {
    guard let index = outbound.firstIndex(where: \.isDue) else { return nil }
    let number = acknowledged + UInt64(index)
    guard number < sendLimit else { return nil }
    if number == sent, unhandledBytes + outbound[index].lengthBytes > Int(peerLimits.bytes) { return nil }
    return index
  }

  /// Whether the peer allows a frame of this decoded size after those that are queued.
  func allows(_ lengthBytes: Int) -> Bool {
    let unsentBytes = outbound.dropFirst(Int(sent - acknowledged)).reduce(0) { $0 + $1.lengthBytes }
    return acknowledged + UInt64(outbound.count) < sendLimit
      && unhandledBytes + unsentBytes + lengthBytes <= Int(peerLimits.bytes)
  }

  private mutating func sendData(
    at index: Int, lineFreeAt: Instant, bitsPerSecond: UInt32?, counters: inout LinkCounters
  ) -> Frame {
    let number = acknowledged + UInt64(index)
    let frame = Frame(
      header(.data, channel: outbound[index].channel, sequence: number), payload: outbound[index].payload)
    let leaves = bitsPerSecond.map { lineFreeAt + frame.lineTime(at: $0) } ?? lineFreeAt
    counters.dataSent += 1
    dueCount -= 1
    outbound[index].isDue = false
    sendings += 1
    if outbound[index].firstSending == 0 { outbound[index].firstSending = sendings }
    outbound[index].lastSending = sendings
    outbound[index].sentAt = leaves
    if number == sent {
      sent += 1
      unhandledSizes.append(outbound[index].lengthBytes)
      unhandledBytes += outbound[index].lengthBytes
    } else {
      counters.dataResent += 1
    }
    if resendDeadline == nil || index == 0 {
      resendStartedAt = leaves
      resendDeadline = leaves + resendTimer.wait
    }
    return frame
  }

  /// Records that a frame reports ack and credit to the peer. Source: PROTOCOL.md LNK-50.
  private mutating func markReported(_ frame: Frame) -> Frame {
    ackDue = .no
    unacknowledgedReceived = 0
    grantedLimit = received + UInt64(credit)
    return frame
  }
}
