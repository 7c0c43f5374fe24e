/// The payload of RST: a device refuses. Source: PROTOCOL.md LNK-6, LNK-18 to LNK-21.
package struct Rst: Hashable, Sendable {
  /// The versions that the device supports.
  package var versions: VersionRange
  package var reason: RSTReason
  package var bootID: UInt32?
  /// The nonce of the SYN refused.
  package var nonce: UInt64?
  /// The TLV type refused.
  package var refused: UInt8?

  package init(
    versions: VersionRange = .supported, reason: RSTReason, bootID: UInt32? = nil, nonce: UInt64? = nil,
    refused: UInt8? = nil
  ) {
    self.versions = versions
    self.reason = reason
    self.bootID = bootID
    self.nonce = nonce
    self.refused = refused
  }

  /// Reads a payload.
  package init(parsing payload: [UInt8]) throws(WireError) {
    let block = try TLVBlock(parsing: payload, requiring: [.versions, .reason])
    versions = try block.versions()
    reason = RSTReason(wire: try block.required(.reason))
    bootID = block.number(.bootID)
    nonce = block.number(.nonce)
    refused = block.number(.refused)
  }

  /// The payload's bytes.
  package func encoded() -> [UInt8] {
    var payload: [UInt8] = []
    payload.appendMagic()
    payload.appendTLV(.nonce, nonce)
    payload.appendTLV(versions)
    payload.appendTLV(.bootID, bootID)
    payload.appendTLV(.reason, reason.wire)
    payload.appendTLV(.refused, refused)
    return payload
  }
}

/// The payload of PONG. Source: PROTOCOL.md LNK-52.
package struct Pong: Hashable, Sendable {
  /// DATA frames that the application has handled, modulo 256.
  package var handled: UInt8

  package init(handled: UInt8) {
    self.handled = handled
  }

  /// Reads a payload; bytes beyond the format are ignored (LNK-3).
  package init(parsing payload: [UInt8]) throws(WireError) {
    guard let handled = payload.first else { throw .tooShort(expectedBytes: 1, actualBytes: 0) }
    self.handled = handled
  }

  /// The payload's bytes.
  package func encoded() -> [UInt8] {
    [handled]
  }
}

/// The payload of NAK. Source: PROTOCOL.md LNK-33.
package struct Nak: Hashable, Sendable {
  /// Bit *i* is set when the frame `ack` + 1 + *i* is held; nil when the payload is empty.
  package var held: UInt64?

  package init(held: UInt64? = nil) {
    self.held = held
  }

  /// Reads a payload; bytes beyond the format are ignored (LNK-3).
  package init(parsing payload: [UInt8]) throws(WireError) {
    guard !payload.isEmpty else { return }
    guard let held = payload.littleEndian(at: 0, as: UInt64.self) else {
      throw .tooShort(expectedBytes: 8, actualBytes: payload.count)
    }
    self.held = held
  }

  /// The payload's bytes: none, or eight.
  package func encoded() -> [UInt8] {
    guard let held else { return [] }
    var payload: [UInt8] = []
    payload.appendLittleEndian(held)
    return payload
  }
}
