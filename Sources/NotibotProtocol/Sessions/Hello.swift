/// The payload of HELLO: a device that has just booted identifies itself. Source: PROTOCOL.md
/// LNK-6, LNK-10.
package struct Hello: Hashable, Sendable {
  package var versions: VersionRange
  /// Random at each boot.
  package var bootID: UInt32
  package var bootCount: UInt32?
  package var resetReason: ResetReason?
  package var deviceID: DeviceID?
  /// At most 32 bytes; unsanitised, as the device sent it.
  package var firmwareName: String?
  /// At most 32 bytes; unsanitised, as the device sent it.
  package var firmwareVersion: String?

  package init(
    versions: VersionRange = .supported, bootID: UInt32, bootCount: UInt32? = nil,
    resetReason: ResetReason? = nil,
    deviceID: DeviceID? = nil, firmwareName: String? = nil, firmwareVersion: String? = nil
  ) {
    self.versions = versions
    self.bootID = bootID
    self.bootCount = bootCount
    self.resetReason = resetReason
    self.deviceID = deviceID
    self.firmwareName = firmwareName
    self.firmwareVersion = firmwareVersion
  }

  /// Reads a payload.
  package init(parsing payload: [UInt8]) throws(WireError) {
    let block = try TLVBlock(parsing: payload, requiring: [.versions, .bootID])
    versions = try block.versions()
    bootID = try block.required(.bootID)
    bootCount = block.number(.bootCount)
    resetReason = block.number(.resetReason).map(ResetReason.init(wire:))
    deviceID = block.deviceID()
    firmwareName = block.text(.firmwareName)
    firmwareVersion = block.text(.firmwareVersion)
  }

  /// The payload's bytes; names longer than 32 bytes are cut.
  package func encoded() -> [UInt8] {
    var payload: [UInt8] = []
    payload.appendMagic()
    payload.appendTLV(versions)
    payload.appendTLV(.bootID, bootID)
    payload.appendTLV(.bootCount, bootCount)
    payload.appendTLV(.resetReason, resetReason?.rawValue)
    payload.appendTLVs(deviceID: deviceID, firmwareName: firmwareName, firmwareVersion: firmwareVersion)
    return payload
  }
}

extension TLVBlock {
  /// VERSIONS, which is required.
  func versions() throws(WireError) -> VersionRange {
    VersionRange(lowest: try required(.versions), highest: try required(.versions, offset: 1))
  }

  /// FEATURES; none when absent.
  func features() -> Features {
    Features(rawValue: number(.features) ?? 0)
  }

  /// LIMITS brought into range; the defaults when absent.
  func limits() -> LinkLimits {
    guard let frames = number(.limits, as: UInt8.self),
      let requests = number(.limits, offset: 1, as: UInt8.self),
      let mtu = number(.limits, offset: 2, as: UInt16.self),
      let bytes = number(.limits, offset: 4, as: UInt32.self)
    else { return .unannounced }
    return LinkLimits(frames: frames, requests: requests, mtu: mtu, bytes: bytes).clamped
  }

  /// DEVICE_ID.
  func deviceID() -> DeviceID? {
    bytes(.deviceID, limitBytes: 6).flatMap(DeviceID.init(octets:))
  }
}
