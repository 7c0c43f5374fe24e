import DequeModule
@_spi(Machines) import NotibotProtocol

/// Received frames. Source: PROTOCOL.md section 2.
extension DeviceLink {
  /// Takes a valid frame of the host.
  mutating func receive(_ frame: Frame, now: Instant) {
    clock = now
    switch frame.header.type {
    case .syn:
      receiveSyn(frame.payload)
    case .hello, .synack, .rst:
      // The decoder treats the first two as text; only a device sends the third (LNK-20).
      counters.ignored += 1
    case .udata:
      // No channel of the device accepts UDATA (LNK-4); in the live session it is still a sign of
      // life.
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
    if end == .closedByHost, case .live(let session) = state {
      enqueueReply(Frame(session.value.header(.ack)))
    }
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
  /// Whether the payload is at least as long as its format requires. Source: PROTOCOL.md LNK-3.
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
  /// Takes a well-formed frame of this session. Returns the reason if the session ends.
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
    // Serial arithmetic: the distance of the number above the expected one, modulo 256.
    let distance = UInt64(frame.header.sequence &- UInt8(truncatingIfNeeded: received))
    let item = Inbound(channel: frame.header.channel, payload: frame.payload)
    guard received + distance < handled + UInt64(ownLimits.frames), isWithinBytes(item, distance) else {
      counters.outOfWindow += 1
      if outOfWindowAcks.allows(now: now) { ackDue = .now }
      return
    }
    guard distance == 0 else {
      counters.outOfOrder += 1
      receiveOutOfOrder(item, Int(distance), now: now)
      return
    }
    receiveInOrder(item, now: now, counters: &counters)
    while let next = nextKept() { receiveInOrder(next, now: now, counters: &counters) }
  }

  /// Whether the granted bytes have room for the frame; a frame that is already kept takes no more
  /// of them.
  private func isWithinBytes(_ item: Inbound, _ distance: UInt64) -> Bool {
    var kept = 0
    switch outOfOrder {
    case .dropped: break
    case .kept(let frames, _):
      guard distance == 0 || !frames.holds(distance: Int(distance)) else { return true }
      kept = frames.lengthBytes
    }
    return inboundBytes + kept + item.lengthBytes <= Int(ownLimits.bytes)
  }

  /// Receives the frame that is next in order.
  private mutating func receiveInOrder(_ item: Inbound, now: Instant, counters: inout LinkCounters) {
    counters.dataReceived += 1
    received += 1
    inbound.append(item)
    inboundBytes += item.lengthBytes
    unacknowledgedReceived += 1
    if unacknowledgedReceived >= 2 {
      ackDue = .now
    } else if ackDue == .no {
      ackDue = .at(now + DeviceLink.delayedAckTime)
    }
  }

  /// A frame was taken: returns the next one in order, if it is kept.
  private mutating func nextKept() -> Inbound? {
    switch exchange(&outOfOrder, with: .dropped(nil)) {
    case .dropped:
      // The hole is filled; a later one is requested when a further frame is out of order.
      isNakDue = false
      return nil
    case .kept(var kept, let unreported):
      let next = kept.advance()
      outOfOrder = .kept(kept, unreported: kept.isEmpty ? 0 : unreported)
      if kept.isEmpty {
        isNakDue = false
        bitmapDeadline = nil
      }
      return next
    }
  }

  /// Source: PROTOCOL.md LNK-33.
  private mutating func receiveOutOfOrder(_ item: Inbound, _ distance: Int, now: Instant) {
    let number = received + UInt64(distance)
    switch exchange(&outOfOrder, with: .dropped(nil)) {
    case .dropped(let hole):
      // One NAK for each hole and round.
      if hole?.missing != received || number <= hole?.lastOutOfOrder ?? 0 { isNakDue = true }
      outOfOrder = .dropped(Hole(missing: received, lastOutOfOrder: number))
    case .kept(var kept, let unreported):
      let placement = kept.keep(item, distance: distance)
      outOfOrder = .kept(kept, unreported: unreported + 1)
      if placement == .opensHole || unreported >= 1 {
        isNakDue = true
      } else if bitmapDeadline == nil {
        bitmapDeadline = now + DeviceLink.delayedAckTime
      }
    }
  }

  /// Returns the next payload. Source: PROTOCOL.md LNK-40.
  mutating func popInbound(now: Instant) -> Inbound? {
    guard let item = inbound.popFirst() else { return nil }
    inboundBytes -= item.lengthBytes
    handled += 1
    // Credit that grows from zero is reported at once. Any other growth is acknowledged like
    // received data: a peer at its byte limit would otherwise wait for the next PING.
    if grantedLimit == received {
      ackDue = .now
    } else if ackDue == .no {
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
    if frame.header.type == .nak { receiveNak((try? Nak(parsing: frame.payload).held) ?? 0) }
  }

  private mutating func acknowledge(_ count: Int, now: Instant) {
    let isSample = !outbound.prefix(Int(sent - acknowledged)).contains { $0.firstSending != $0.lastSending }
    let newest = outbound[count - 1]
    for frame in outbound.prefix(count) where frame.isDue { dueCount -= 1 }
    outbound.removeFirst(count)
    acknowledged += UInt64(count)
    if isSample { resendTimer.sample(now - newest.sentAt) }
    resendTimer.settle()
    resendStartedAt = now
    resendDeadline = sent > acknowledged ? now + resendTimer.wait : nil
  }

  /// Bit *i* of `held`: the peer holds `ack` + 1 + *i*. Source: PROTOCOL.md LNK-34.
  private mutating func receiveNak(_ held: UInt64) {
    let sentCount = Int(sent - acknowledged)
    let dueBefore = dueCount
    if held == 0 {
      for index in 0..<sentCount {
        outbound[index].isHeld = false
        makeDue(index)
      }
    } else {
      var newestSending: UInt64 = 0
      for index in 0..<sentCount {
        // The first place is the missing frame itself.
        if index > 0, held >> UInt64(index - 1) & 1 == 1 { markHeld(index) }
        if outbound[index].isHeld { newestSending = max(newestSending, outbound[index].firstSending) }
      }
      // The line keeps the order: a frame that left before one that has arrived is lost if it has
      // not arrived.
      for index in 0..<sentCount where outbound[index].lastSending < newestSending { makeDue(index) }
    }
    if dueCount > dueBefore { resendDeadline = nil }
  }

  /// Makes every sent frame due again, except those that the peer holds; it cannot hold the oldest.
  /// Source: PROTOCOL.md LNK-51.
  mutating func sendAgain() {
    guard sent > acknowledged else { return }
    outbound[0].isHeld = false
    for index in 0..<Int(sent - acknowledged) { makeDue(index) }
  }

  private mutating func markHeld(_ index: Int) {
    outbound[index].isHeld = true
    guard outbound[index].isDue else { return }
    outbound[index].isDue = false
    dueCount -= 1
  }

  private mutating func makeDue(_ index: Int) {
    guard !outbound[index].isDue, !outbound[index].isHeld else { return }
    outbound[index].isDue = true
    dueCount += 1
  }
}
