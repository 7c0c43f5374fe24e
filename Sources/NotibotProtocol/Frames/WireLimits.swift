/// The sizes that the wire allows. Source: PROTOCOL.md FRM-4, FRM-8, LNK-8.
package enum WireLimits {
  /// Bytes of a frame's header.
  package static let headerLengthBytes = 8
  /// Bytes of the CRC-32 that ends a frame.
  package static let checksumLengthBytes = 4
  /// Bytes of header and CRC together, which every frame has.
  package static let overheadLengthBytes = headerLengthBytes + checksumLengthBytes
  /// The longest payload, in bytes.
  package static let payloadLimitBytes = 528
  /// The longest decoded frame, in bytes.
  package static let frameLimitBytes = payloadLimitBytes + overheadLengthBytes
  /// The longest encoded frame between its zeros, in bytes.
  package static let encodedLimitBytes = frameLimitBytes + (frameLimitBytes + 253) / 254
  /// The longest frame on the wire with both its zeros, in bytes.
  package static let wireLimitBytes = encodedLimitBytes + 2
}
