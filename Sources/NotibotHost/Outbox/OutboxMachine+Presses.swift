import NotibotProtocol

// Actions that the user chooses at the display. Source: PROTOCOL.md NTF-29, NTF-42.
extension OutboxMachine {
  // MARK: Kept presses

  /// The device reported a kept press; it is taken as soon as host and device agree on who wrote
  /// last, and in which boot.
  mutating func receive(_ press: KeptPress) {
    guard let session, session.info.keepsActions, press.key.source == header.source else { return }
    let number = entries.numbers[press.key.id]
    let received = PendingPress(
      press: press, bootID: session.info.bootID, number: number,
      isStale: number.map { isStale(press, of: $0) } ?? true)
    guard !session.isSending else { return accept([received]) }
    guard press.number > session.receivedPress else { return }
    guard session.waitingPresses.count < OutboxSession.waitingPressesLimit else {
      // Numbers that follow must not hide this one; the device reports all again at the next SYNC.
      self.session?.receivedPress = .max
      return
    }
    self.session?.receivedPress = press.number
    self.session?.waitingPresses.append(received)
  }

  /// Host and device agree: waiting presses are accepted.
  mutating func acceptWaitingPresses() {
    if let number = session?.releasablePress {
      session?.releasablePress = nil
      release(number)
    }
    guard let waiting = session?.waitingPresses, !waiting.isEmpty else { return }
    session?.waitingPresses = []
    accept(waiting.filter { $0.press.key.source == header.source })
  }

  /// Accepts presses in the order of their numbers, each once.
  private mutating func accept(_ received: [PendingPress]) {
    var known: UInt32?
    for press in received {
      let number = press.press.number
      if number > presses.highest(in: press.bootID) {
        journal.mark(press, presses.record(number, in: press.bootID))
      } else if journal.isDurable(press: number, in: press.bootID) {
        // It was taken before. While its commit is in progress, TAKEN follows from that.
        known = number
      }
    }
    if let known { release(known) }
  }

  /// SYNCED shows that the device has restarted, and its boot has an id that was there before: the
  /// presses that were taken then are not those of this boot. Source: PROTOCOL.md NTF-42.
  mutating func forgetPresses(ifRestarted answer: SyncAnswer) {
    let bootID = answer.bootID
    let isBehind = header.bootID == bootID && answer.highestID < entries.highestHeldID
    guard presses.highest(in: bootID) > 0, answer.highestID == 0 || isBehind || session?.hasRestarted == true
    else { return }
    presses.forget(bootID)
    journal.markForgotten(pressesOf: bootID)
    session?.hasRestarted = false
    session?.releasablePress = nil
    guard header.writtenBootID == bootID else { return }
    // Nothing is written before that is durable: a later SYNC would no longer show it.
    journal.markBoot(bootID)
    durableBootID = nil
  }

  /// Taken presses are durable, in the order of their numbers.
  mutating func finishPresses(_ taken: [PendingPress]) {
    for press in taken {
      guard let number = press.number else { continue }
      // The text can have been replaced since.
      let isStale = press.isStale || entries[number] != nil && self.isStale(press.press, of: number)
      report(
        .action(number, act: UInt32(press.press.act), revision: press.press.revision, isStale: isStale))
    }
    guard let last = taken.last, session?.info.bootID == last.bootID, last.press.key.source == header.source,
      last.press.number <= presses.highest(in: last.bootID)
    else { return }
    release(last.press.number)
  }

  /// Sends TAKEN, now or as soon as host and device agree.
  private mutating func release(_ number: UInt32) {
    guard let session else { return }
    if session.isSending {
      act(.taken(source: header.source, press: number))
    } else {
      self.session?.releasablePress = max(number, session.releasablePress ?? 0)
    }
  }

  /// Whether a press was for another text than the newest one of its notification.
  private func isStale(_ press: KeptPress, of number: OutboxNumber) -> Bool {
    isStale(press.revision, id: press.key.id, of: number)
  }

  private func isStale(_ revision: UInt16, id: UInt32, of number: OutboxNumber) -> Bool {
    guard let entry = entries[number], !entry.hasNewerContent else { return true }
    switch entry.state {
    case .written(let write), .held(let write), .updating(_, let write):
      return !write.isRevision(revision, of: id)
    case .queued, .removing, .refused: return true
    }
  }

  // MARK: A device that does not keep them

  /// The event of an action. Without kept actions it is reported at once; without `revision` it is
  /// not known whether it is stale.
  mutating func receiveAction(_ act: UInt32, of key: NotificationKey, revision: UInt16?) {
    guard let session, session.hasIdentity, !session.info.keepsActions, key.source == header.source,
      let number = entries.numbers[key.id]
    else { return }
    let isStale = revision.map { self.isStale($0, id: key.id, of: number) } ?? false
    report(.action(number, act: act, revision: revision, isStale: isStale))
  }
}
