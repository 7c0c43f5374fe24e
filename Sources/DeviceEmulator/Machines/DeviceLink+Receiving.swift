import DequeModule
import NotibotProtocol

/// Frames that come in. Source: PROTOCOL.md section 2.
extension DeviceLink {
  /// Takes a valid frame of the host.
  mutating func receive(_ frame: Frame, now: Instant) {
    clock = now
    switch frame.header.type {
    case .syn:
      receiveSyn(frame.payload)
    case .hello, .synack, .rst:
      // The decoder knows the first two as text; only a device sends the third (LNK-20).
      counters.ignored += 1
    case .udata:
      // No channel of the device takes UDATA (LNK-4); of the live session it is still a sign of life.
      counters.unserved += 1
      if frame.header.session != 0 { receiveInSession(frame) }
    case .data, .ack, .nak, .ping, .pong, .fin:
      receiveInSession(frame)
    }
  }

  private mutating func receiveInSession(_ frame: Frame) {
    guard frame.isWellFormed else {
      counters.malformed += 1
      return
    }
    guard frame.header.session == sessionID else {
      receiveForeign(frame.header)
      return
    }
    var tally = counters
    let now = clock
    let end = withSession { $0.receive(frame, now: now, counters: &tally) } ?? nil
    counters = tally
    guard let end else { return }
    if end == .closedByHost, case .live(let session) = state { enqueueReply(Frame(session.header(.ack))) }
    self.end(end)
  }

  private mutating func receiveForeign(_ header: FrameHeader) {
    counters.foreign += 1
    switch header.type {
    case .data, .ack, .nak, .ping: refuseForeign(header.session)
    case .hello, .syn, .synack, .udata, .pong, .rst, .fin: break
    }
  }
}

extension Frame {
  /// Whether the payload is at least as long as its format says. Source: PROTOCOL.md LNK-3.
  fileprivate var isWellFormed: Bool {
    switch header.type {
    case .data: !payload.isEmpty
    case .nak: payload.isEmpty || payload.count >= 8
    case .pong: !payload.isEmpty
    case .hello, .syn, .synack, .ack, .udata, .ping, .rst, .fin: true
    }
  }
}

extension DeviceSession {
  /// Takes a well-formed frame of this session. Returns why the session ends, if it does.
  mutating func receive(
    _ frame: Frame, now: Instant, counters: inout LinkCounters
  ) -> DeviceLink.SessionEnd? {
    lastReceived = now
    pingDeadline = now + DeviceLink.pingInterval
    isPingDue = false
    switch phase {
    case .offered: phase = .open
    case .open: break
    case .closing: return frame.header.type == .ack || frame.header.type == .fin ? .closed : nil
    }
    if frame.header.type != .udata { receiveAck(frame, now: now, counters: &counters) }
    switch frame.header.type {
    case .data: receiveData(frame, now: now, counters: &counters)
    case .ping: pongsDue = min(pongsDue + 1, DeviceLink.pongsLimit)
    case .fin: return .closedByHost
    case .ack, .nak, .pong, .udata, .hello, .syn, .synack, .rst: break
    }
    return nil
  }

  /// Source: PROTOCOL.md LNK-32, LNK-33.
  private mutating func receiveData(_ frame: Frame, now: Instant, counters: inout LinkCounters) {
    // Serial arithmetic: how far the number lies above the expected one, modulo 256.
    let distance = UInt64(frame.header.sequence &- UInt8(truncatingIfNeeded: received))
    let item = Inbound(channel: frame.header.channel, payload: frame.payload)
    let isWithinGrant =
      received + distance < handled + UInt64(ownLimits.frames)
      && (distance > 0 || inboundBytes + item.lengthBytes <= Int(ownLimits.bytes))
    guard isWithinGrant else {
      counters.outOfWindow += 1
      if outOfWindowAcks.allows(now: now) { ackDue = .now }
      return
    }
    guard distance == 0 else {
      counters.outOfOrder += 1
      noteOutOfOrder(received + distance)
      return
    }
    counters.dataReceived += 1
    received += 1
    hole = nil
    inbound.append(item)
    inboundBytes += item.lengthBytes
    unacknowledgedReceived += 1
    if unacknowledgedReceived >= 2 {
      ackDue = .now
    } else if ackDue == .no {
      ackDue = .at(now + DeviceLink.delayedAckTime)
    }
  }

  /// One NAK for each hole and round. Source: PROTOCOL.md LNK-33.
  private mutating func noteOutOfOrder(_ number: UInt64) {
    if let hole, hole.missing == received, number > hole.lastOutOfOrder {
      self.hole = Hole(missing: received, lastOutOfOrder: number)
      return
    }
    hole = Hole(missing: received, lastOutOfOrder: number)
    isNakDue = true
  }

  /// Hands on the next payload. Source: PROTOCOL.md LNK-40.
  mutating func takeInbound(now: Instant) -> Inbound? {
    guard let item = inbound.popFirst() else { return nil }
    inboundBytes -= item.lengthBytes
    handled += 1
    // Credit that grew from nothing is told at once. Growth that no frame has told yet is told like received data:
    // a peer at its byte limit would otherwise wait for the next PING.
    if grantedLimit == received {
      ackDue = .now
    } else if ackDue == .no, handled + UInt64(ownLimits.frames) > grantedLimit {
      ackDue = .at(now + DeviceLink.delayedAckTime)
    }
    return item
  }

  /// Source: PROTOCOL.md LNK-31, LNK-34, LNK-41, LNK-51.
  private mutating func receiveAck(_ frame: Frame, now: Instant, counters: inout LinkCounters) {
    let advance = UInt64(frame.header.ack &- UInt8(truncatingIfNeeded: acknowledged))
    guard advance <= sent - acknowledged else {
      counters.badAcks += 1
      return
    }
    if advance > 0 { acknowledge(Int(advance), now: now) }
    sendLimit = max(sendLimit, acknowledged + UInt64(min(frame.header.credit, 64)))
    let frames = UInt64(peerLimits.frames)
    let handledByPeer = min(sendLimit > frames ? sendLimit - frames : 0, acknowledged)
    while peerHandled < handledByPeer, let size = unhandledSizes.popFirst() {
      unhandledBytes -= size
      peerHandled += 1
    }
    if frame.header.type == .nak {
      let held = (try? Nak(parsing: frame.payload).held) ?? 0
      sendAgain(except: held)
      if !outbound.isEmpty { resendDeadline = nil }
    }
  }

  private mutating func acknowledge(_ count: Int, now: Instant) {
    let isSample = !outbound.prefix(Int(sent - acknowledged)).contains { $0.timesSent > 1 }
    let newest = outbound[count - 1]
    for frame in outbound.prefix(count) where frame.isDue { dueCount -= 1 }
    outbound.removeFirst(count)
    acknowledged += UInt64(count)
    if isSample { resendTimer.sample(now - newest.sentAt) }
    resendTimer.settle()
    resendStartedAt = now
    resendDeadline = sent > acknowledged ? now + resendTimer.wait : nil
  }

  /// Makes every frame that was sent due again, less those that bit *i* of `held` says are held (`ack` + 1 + *i*).
  mutating func sendAgain(except held: UInt64) {
    for index in 0..<Int(sent - acknowledged) where !outbound[index].isDue {
      let bit = index - 1
      if bit >= 0, bit < 64, held >> UInt64(bit) & 1 == 1 { continue }
      outbound[index].isDue = true
      dueCount += 1
    }
  }
}
