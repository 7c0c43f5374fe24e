/// The payload of SYN: a host asks for a session. Source: PROTOCOL.md LNK-6, LNK-11.
package struct Syn: Hashable, Sendable {
  /// Random; the same for all SYNs of one attempt.
  package var nonce: UInt64
  package var versions: VersionRange
  package var features: Features
  /// The host's receive limits; brought into range when parsed.
  package var limits: LinkLimits
  /// The writer's identity.
  package var source: UInt32?
  /// The host program's run number.
  package var run: UInt32?
  package var clock: HostClock?

  package init(
    nonce: UInt64, versions: VersionRange = .supported, features: Features = [],
    limits: LinkLimits = .unannounced,
    source: UInt32? = nil, run: UInt32? = nil, clock: HostClock? = nil
  ) {
    self.nonce = nonce
    self.versions = versions
    self.features = features
    self.limits = limits
    self.source = source
    self.run = run
    self.clock = clock
  }

  /// Reads a payload.
  package init(parsing payload: [UInt8]) throws(WireError) {
    let block = try TLVBlock(parsing: payload, requiring: [.nonce, .versions])
    nonce = try block.required(.nonce)
    versions = try block.versions()
    features = block.features()
    limits = block.limits()
    // 0 is none (LNK-5).
    source = block.number(.src).flatMap { $0 == 0 ? nil : $0 }
    run = block.number(.run)
    if let seconds = block.number(.clock, as: Int64.self),
      let zone = block.number(.clock, offset: 8, as: Int16.self)
    {
      clock = HostClock(seconds: seconds, zoneOffsetMinutes: zone)
    }
  }

  /// The first whole NONCE of a SYN payload, even of an invalid one, for the RST that answers it;
  /// nil if there is none before the end or before a TLV that runs past it. Source: PROTOCOL.md
  /// LNK-19.
  package static func readableNonce(in payload: [UInt8]) -> UInt64? {
    var offset = 0
    while offset + 2 <= payload.count {
      let end = offset + 2 + Int(payload[offset + 1])
      guard end <= payload.count else { return nil }
      let value = Array(payload[(offset + 2)..<end])
      if payload[offset] == TLVType.nonce.rawValue, let nonce = value.littleEndian(at: 0, as: UInt64.self) {
        return nonce
      }
      offset = end
    }
    return nil
  }

  /// The payload's bytes.
  package func encoded() -> [UInt8] {
    var payload: [UInt8] = []
    payload.appendMagic()
    payload.appendTLV(.nonce, nonce)
    payload.appendTLV(versions)
    payload.appendTLV(.features, features.rawValue)
    payload.appendTLV(limits)
    payload.appendTLV(.src, source)
    payload.appendTLV(.run, run)
    if let clock {
      var value: [UInt8] = []
      value.appendLittleEndian(clock.seconds)
      value.appendLittleEndian(clock.zoneOffsetMinutes)
      payload.appendTLV(.clock, bytes: value)
    }
    return payload
  }
}
