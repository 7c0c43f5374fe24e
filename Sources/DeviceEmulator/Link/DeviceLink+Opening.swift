@_spi(Machines) import NotibotProtocol

/// SYN and its answers. Source: PROTOCOL.md LNK-10 to LNK-20.
extension DeviceLink {
  mutating func receiveSyn(_ payload: [UInt8]) {
    // A host is present: no more HELLO frames.
    hellosLeft = 0
    isHelloDue = false
    let syn: Syn
    do {
      syn = try Syn(parsing: payload)
    } catch {
      refuse(payload, for: error)
      return
    }
    guard let version = VersionRange.supported.highestCommon(with: syn.versions) else {
      counters.malformed += 1
      sendRst(Rst(reason: .noCommonVersion, bootID: boot.id, nonce: syn.nonce), session: 0)
      return
    }
    switch state {
    case .live(let session) where session.value.nonce == syn.nonce:
      withSession { $0.isSynackDue = true }
    case .live, .idle:
      guard !nonces.contains(syn.nonce) else {
        counters.staleSyns += 1
        return
      }
      end(.superseded)
      open(syn, version: version)
    }
  }

  /// Chooses an id and offers a session. Source: PROTOCOL.md LNK-12, LNK-14.
  private mutating func open(_ syn: Syn, version: UInt8) {
    if nonces.count == Self.noncesRemembered { nonces.removeFirst() }
    nonces.append(syn.nonce)
    let id = nextSessionID
    nextSessionID = id == .max ? 1 : id + 1
    counters.sessions += 1
    let answer = SynAck(
      nonce: syn.nonce, version: version, features: identity.features, limits: identity.limits,
      deviceID: identity.deviceID, firmwareName: identity.firmwareName,
      firmwareVersion: identity.firmwareVersion, buildHash: identity.buildHash,
      profileHash: identity.profileHash, capacity: identity.capacity, bootID: boot.id, bootCount: boot.count,
      resetReason: boot.reason, uptimeMs: UInt64(max(0, (clock - boot.time).wholeNanoseconds / 1_000_000)))
    let header = FrameHeader(
      type: .synack, direction: .fromDevice, session: id, credit: identity.limits.frames)
    let features = identity.features.intersection(syn.features.meant)
    let limits = syn.limits.clamped
    let session = DeviceSession(
      id: id, nonce: syn.nonce, synack: Frame(header, payload: answer.encoded()), ownLimits: identity.limits,
      peerLimits: limits, features: features, outOfOrder: identity.outOfOrder, now: clock)
    state = .live(Boxed(session))
    // A SRC of 0 identifies no writer.
    let source = syn.source == 0 ? nil : syn.source
    events.append(.opened(Peer(features: features, source: source, clock: syn.clock)))
  }

  /// Answers a SYN that cannot be accepted; the live session stays. Source: PROTOCOL.md LNK-19.
  private mutating func refuse(_ payload: [UInt8], for error: WireError) {
    counters.malformed += 1
    var rst = Rst(reason: .malformed, bootID: boot.id, nonce: Syn.readableNonce(in: payload))
    if case .unknownCriticalTLV(let type) = error {
      rst.reason = .unknownCriticalTLV
      rst.refused = type
    }
    sendRst(rst, session: 0)
  }

  /// Reports that a frame's session is not the live one, if the rate limit allows. Source:
  /// PROTOCOL.md LNK-20.
  mutating func refuseForeign(_ session: UInt16) {
    guard rstLimiter.allows(now: clock) else {
      counters.rstsSuppressed += 1
      return
    }
    sendRst(Rst(reason: .noSession, bootID: boot.id), session: session)
  }

  private mutating func sendRst(_ rst: Rst, session: UInt16) {
    counters.rstsSent += 1
    enqueueReply(
      Frame(FrameHeader(type: .rst, direction: .fromDevice, session: session), payload: rst.encoded()))
  }
}

extension Features {
  /// SYNC needs the optional keys, and kept actions need both. Source: PROTOCOL.md LNK-9.
  fileprivate var meant: Features {
    guard contains(.optionalKeys) else { return subtracting([.sync, .keptActions]) }
    return contains(.sync) ? self : subtracting(.keptActions)
  }
}
