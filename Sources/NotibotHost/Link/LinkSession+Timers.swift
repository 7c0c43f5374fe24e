@_spi(Machines) package import NotibotProtocol

// The timers of a session, and the serialisation of its frames. Source: PROTOCOL.md
// LNK-50...LNK-53.
extension LinkSession {
  /// Executes everything that is due.
  package mutating func handleTimeout(now: Instant) {
    switch state {
    case .closed: break
    case .opening(let opening):
      if let deadline = opening.deadline, now >= deadline {
        end(.noAnswer)
      } else if now >= opening.repeatAt {
        repeatSyn(opening, now: now)
      }
    case .open:
      guard var link = removeOpenLink() else { return }
      switch link.change({ handleTimeout(link: &$0, now: now) }) {
      case .stays: state = .open(link)
      case .ends(let reason): end(reason)
      }
    case .closing(let closing):
      if now >= closing.deadline { end(.closed) }
    }
  }

  /// The line accepts no more bytes, or accepts them again. While it does not, nothing is resent,
  /// because earlier frames have not left yet.
  package mutating func handleWritability(_ isWritable: Bool) {
    self.isWritable = isWritable
  }

  /// Serialises the frames that can be sent: new DATA as credit allows, then an acknowledgement if
  /// one is still due.
  package mutating func flush(now: Instant) {
    guard var link = removeOpenLink() else { return }
    link.change { link in
      sendWaiting(link: &link, now: now)
      if link.receiving.owesAck(now: now) { acknowledge(link: &link) }
    }
    state = .open(link)
  }

  private mutating func handleTimeout(link: inout OpenLink, now: Instant) -> Outcome {
    let silentNs = now.nanoseconds(since: link.receivedAt)
    if silentNs >= OpenLink.downAfterNs { return .ends(.silent) }
    if silentNs >= OpenLink.suspectAfterNs, link.health == .live {
      link.health = .suspect
      actions.append(.suspected)
    }
    switch link.resendTimer {
    case .running(let since, let deadline) where now >= deadline:
      if isWritable {
        statistics.resendTimeouts += 1
        link.handleResendTimeout(startedAt: since, now: now)
        emit(link.sending.resendExpired(), link: &link)
      } else {
        link.postponeResend(now: now)
      }
    case .idle, .running: break
    }
    if now >= link.pingAt {
      link.pingAt = now.after(ns: OpenLink.pingIntervalNs)
      emit(.ping, link: &link)
    }
    return .stays
  }

  /// Sends an acknowledgement: an ACK, or a NAK with the bitmap of the frames held beyond a gap
  /// (LNK-33, LNK-50).
  private mutating func acknowledge(link: inout OpenLink) {
    if link.receiving.isHolding {
      emitNAK(link: &link)
    } else {
      emit(.ack, link: &link)
    }
  }

  /// Sends a NAK with the bitmap of the held frames (LNK-33).
  mutating func emitNAK(link: inout OpenLink) {
    var payload: [UInt8] = []
    payload.appendLittleEndian(link.receiving.heldBitmap)
    statistics.naksSent += 1
    emit(.nak, payload: payload, link: &link)
  }

  /// Resends frames (LNK-34, LNK-51).
  mutating func emit(_ again: [(number: Int, item: SendWindow.Item)], link: inout OpenLink) {
    for (number, item) in again {
      statistics.resent += 1
      emit(.data, channel: item.channel, number: number, payload: item.payload, link: &link)
    }
  }

  private mutating func sendWaiting(link: inout OpenLink, now: Instant) {
    guard link.sending.hasWaiting else { return }
    while output.count < Self.outputLimitBytes, let (number, item) = link.sending.sendNext(now: now) {
      statistics.dataSent += 1
      emit(.data, channel: item.channel, number: number, payload: item.payload, link: &link)
    }
    link.startResendTimer(now: now)
  }
}
