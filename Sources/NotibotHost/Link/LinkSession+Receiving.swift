@_spi(Machines) package import NotibotProtocol

// The reaction of a session to each frame in each state. Source: PROTOCOL.md LNK-13...LNK-34, and
// its section 5.
extension LinkSession {
  /// The effect of a frame in an open session.
  enum Outcome {
    case stays
    case ends(SessionEnd)
  }

  /// Takes in a valid frame from the device.
  package mutating func receive(_ frame: Frame, now: Instant) {
    statistics.framesReceived += 1
    switch state {
    case .closed: receiveClosed(frame)
    case .opening(let opening): receive(frame, opening: opening, now: now)
    case .open:
      guard var link = removeOpenLink() else { return }
      switch link.change({ receive(frame, link: &$0, now: now) }) {
      case .stays: state = .open(link)
      case .ends(let reason): end(reason)
      }
    case .closing(let closing): receive(frame, closing: closing)
    }
  }

  /// A frame of another session gets no RST (LNK-20): this host has sent a SYN or is about to, so
  /// an RST would not inform the device.
  private mutating func receiveClosed(_ frame: Frame) {
    switch frame.header.type {
    case .udata where frame.header.session == 0: receiveUnnumberedData(frame)
    case .hello, .syn, .synack, .data, .ack, .nak, .udata, .ping, .pong, .rst, .fin: statistics.foreign += 1
    }
  }

  // MARK: Opening

  private mutating func receive(_ frame: Frame, opening: Opening, now: Instant) {
    switch frame.header.type {
    case .hello:
      // The device has only now started: it missed the SYN before (LNK-17).
      guard parse({ () throws(WireError) in try Hello(parsing: frame.payload) }) != nil else { return }
      repeatSyn(opening, now: now)
    case .synack:
      guard let answer = parse({ () throws(WireError) in try SynAck(parsing: frame.payload) }) else { return }
      guard answer.nonce == opening.nonce else {
        statistics.foreign += 1
        return
      }
      // Session 0 means no session, so no device can have chosen it (LNK-12, LNK-19).
      guard Self.versions.contains(answer.version), frame.header.session != 0 else {
        statistics.malformed += 1
        return
      }
      becomeOpen(answer, header: frame.header, now: now)
    case .rst:
      guard let refusal = parse({ () throws(WireError) in try Rst(parsing: frame.payload) }) else { return }
      guard refusal.nonce == opening.nonce else {
        statistics.foreign += 1
        return
      }
      end(.refused(reason: refusal.reason, versions: refusal.versions))
    case .udata where frame.header.session == 0: receiveUnnumberedData(frame)
    case .syn, .data, .ack, .nak, .udata, .ping, .pong, .fin: statistics.foreign += 1
    }
  }

  mutating func repeatSyn(_ opening: Opening, now: Instant) {
    var opening = opening
    let isSlow = now.nanoseconds(since: opening.since) >= Self.slowAfterNs
    opening.repeatAt = now.after(ns: isSlow ? Self.slowRepeatNs : Self.repeatNs)
    state = .opening(opening)
    emitUnnumbered(.syn, payload: opening.payload)
  }

  private mutating func becomeOpen(_ answer: SynAck, header: FrameHeader, now: Instant) {
    let limits = answer.limits
    var link = OpenLink(
      session: header.session, bootID: answer.bootID,
      hasSync: configuration.featuresInUse(with: answer.features).contains(.sync),
      sending: SendWindow(
        peerFrames: Int(limits.frames), peerBytes: Int(limits.bytes), credit: Int(header.credit)),
      receiving: ReceiveWindow(
        frames: Int(configuration.limits.frames), bytes: Int(configuration.limits.bytes)),
      lineBitsPerSecond: configuration.lineBitsPerSecond, now: now)
    statistics.sessions += 1
    emit(.ack, link: &link)
    state = .open(Boxed(link))
    actions.append(.opened(answer))
  }

  // MARK: Open

  private mutating func receive(_ frame: Frame, link: inout OpenLink, now: Instant) -> Outcome {
    let type = frame.header.type
    switch type {
    case .hello, .synack, .rst:
      return receiveForeignBoot(frame, link: link)
    case .syn:
      statistics.foreign += 1
      return .stays
    case .udata:
      guard frame.header.session == link.session || frame.header.session == 0 else {
        statistics.foreign += 1
        return .stays
      }
      if frame.header.session != 0 { markAlive(link: &link, now: now) }
      receiveUnnumberedData(frame)
      return .stays
    case .data, .ack, .nak, .ping, .pong, .fin:
      guard frame.header.session == link.session else {
        statistics.foreign += 1
        return .stays
      }
      guard Self.isWellFormed(frame) else {
        statistics.malformed += 1
        return .stays
      }
    }
    markAlive(link: &link, now: now)
    let isAckValid = acknowledge(frame.header, link: &link, now: now)
    switch type {
    case .data: receiveData(frame, link: &link, now: now)
    case .nak: if isAckValid { receiveNAK(frame, link: &link, now: now) }
    case .ping:
      // The DATA frames that this side has handled, modulo 256 (LNK-52): all that it has received.
      emit(.pong, payload: [link.receiving.ack], link: &link)
    case .pong: receivePong(frame, link: &link, now: now)
    case .fin:
      emit(.ack, link: &link)
      return .ends(.closedByDevice)
    case .ack, .hello, .syn, .synack, .udata, .rst: break
    }
    return .stays
  }

  /// HELLO, SYNACK and RST in an open session: they end it or are ignored (LNK-22).
  private mutating func receiveForeignBoot(_ frame: Frame, link: OpenLink) -> Outcome {
    var bootID: UInt32?
    switch frame.header.type {
    case .hello:
      bootID = parse { () throws(WireError) in try Hello(parsing: frame.payload) }?.bootID
    case .synack:
      bootID = parse { () throws(WireError) in try SynAck(parsing: frame.payload) }?.bootID
    case .rst:
      guard let rst = parse({ () throws(WireError) in try Rst(parsing: frame.payload) }) else {
        return .stays
      }
      bootID = rst.bootID
      if rst.reason == .noSession, frame.header.session == link.session, bootID ?? link.bootID == link.bootID
      {
        return .ends(.unknownToDevice)
      }
    case .syn, .data, .ack, .nak, .udata, .ping, .pong, .fin: break
    }
    guard let bootID, bootID != link.bootID else { return .stays }
    return .ends(.deviceRestarted(bootID: bootID))
  }

  private mutating func receiveData(_ frame: Frame, link: inout OpenLink, now: Instant) {
    let item = ReceiveWindow.Item(channel: frame.header.channel, payload: frame.payload)
    let verdict = link.receiving.receive(sequence: frame.header.sequence, item: item, now: now) { item in
      statistics.dataReceived += 1
      switch item.channel {
      case .att: actions.append(.received(item.payload))
      case .link where link.hasSync: actions.append(.linkMessage(item.payload))
      case _: statistics.unknownChannel += 1
      }
    }
    switch verdict {
    case .delivered, .held(needsNAK: false): break
    case .held(needsNAK: true): emitNAK(link: &link)
    case .outOfWindow:
      statistics.outOfWindow += 1
      if link.receiving.acquireOutOfWindowAnswer(now: now) { emit(.ack, link: &link) }
    }
  }

  private mutating func receiveNAK(_ frame: Frame, link: inout OpenLink, now: Instant) {
    statistics.naksReceived += 1
    let held = frame.payload.littleEndian(at: 0, as: UInt64.self) ?? 0
    let again = held == 0 ? link.sending.resendAll() : link.sending.resendLost(held: held)
    emit(again, link: &link)
    if !again.isEmpty { link.postponeResend(now: now) }
  }

  private mutating func receivePong(_ frame: Frame, link: inout OpenLink, now: Instant) {
    let handled = frame.payload[0]
    if let last = link.lastPong, last.handled != handled { link.advancedAt = now }
    link.lastPong = OpenLink.Pong(at: now, handled: handled)
  }

  /// Takes in ack and credit. Returns false when they are ignored (LNK-31).
  private mutating func acknowledge(_ header: FrameHeader, link: inout OpenLink, now: Instant) -> Bool {
    guard let advance = link.sending.acknowledge(ack: header.ack, credit: header.credit, now: now) else {
      statistics.badAcks += 1
      return false
    }
    if let sampleNs = advance.sampleNs {
      link.roundTrip.add(sampleNs: sampleNs)
      statistics.roundTripNs = link.roundTrip.smoothedNs
    }
    if advance.frames > 0 { link.restartResendTimer(now: now) }
    if advance.hasMoved { link.advancedAt = now }
    return true
  }

  private mutating func markAlive(link: inout OpenLink, now: Instant) {
    if link.markAlive(now: now) { actions.append(.recovered) }
  }

  // MARK: Closing

  private mutating func receive(_ frame: Frame, closing: Closing) {
    switch frame.header.type {
    case .ack, .fin, .rst:
      guard frame.header.session == closing.session else { break }
      return end(.closed)
    case .udata where frame.header.session == 0: return receiveUnnumberedData(frame)
    case .hello, .syn, .synack, .data, .nak, .udata, .ping, .pong: break
    }
    statistics.foreign += 1
  }

  // MARK: Payloads

  private mutating func receiveUnnumberedData(_ frame: Frame) {
    guard frame.header.channel == .log else {
      statistics.unknownChannel += 1
      return
    }
    actions.append(.logged(frame.payload))
  }

  /// A payload shorter than its format makes the frame malformed (LNK-3).
  private static func isWellFormed(_ frame: Frame) -> Bool {
    switch frame.header.type {
    case .data, .pong: !frame.payload.isEmpty
    case .nak: frame.payload.isEmpty || frame.payload.count >= 8
    case .hello, .syn, .synack, .ack, .udata, .ping, .rst, .fin: true
    }
  }

  private mutating func parse<Payload>(_ body: () throws(WireError) -> Payload) -> Payload? {
    do throws(WireError) {
      return try body()
    } catch {
      // Counted and dropped (LNK-19): its content is unknown, and the device's timers repeat it.
      statistics.malformed += 1
      return nil
    }
  }
}
