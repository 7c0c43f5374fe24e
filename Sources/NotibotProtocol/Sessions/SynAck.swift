/// The payload of SYNACK: a device opens a session and describes itself. Source: PROTOCOL.md LNK-6,
/// LNK-12.
package struct SynAck: Hashable, Sendable {
  /// The nonce of the SYN that this answers.
  package var nonce: UInt64
  /// The version chosen.
  package var version: UInt8
  package var features: Features
  /// The device's receive limits; brought into range when parsed.
  package var limits: LinkLimits
  package var deviceID: DeviceID?
  /// At most 32 bytes; unsanitised, as the device sent it.
  package var firmwareName: String?
  /// At most 32 bytes; unsanitised, as the device sent it.
  package var firmwareVersion: String?
  /// At most 32 bytes.
  package var buildHash: [UInt8]?
  /// Identifies the attribute table. Source: PROTOCOL.md ATT-4.
  package var profileHash: UInt32?
  /// Capacity of the store, in notifications.
  package var capacity: UInt16?
  /// Random at each boot.
  package var bootID: UInt32
  package var bootCount: UInt32?
  package var resetReason: ResetReason?
  package var uptimeMs: UInt64?

  package init(
    nonce: UInt64, version: UInt8 = 1, features: Features = [], limits: LinkLimits = .unannounced,
    deviceID: DeviceID? = nil, firmwareName: String? = nil, firmwareVersion: String? = nil,
    buildHash: [UInt8]? = nil, profileHash: UInt32? = nil, capacity: UInt16? = nil, bootID: UInt32,
    bootCount: UInt32? = nil, resetReason: ResetReason? = nil, uptimeMs: UInt64? = nil
  ) {
    self.nonce = nonce
    self.version = version
    self.features = features
    self.limits = limits
    self.deviceID = deviceID
    self.firmwareName = firmwareName
    self.firmwareVersion = firmwareVersion
    self.buildHash = buildHash
    self.profileHash = profileHash
    self.capacity = capacity
    self.bootID = bootID
    self.bootCount = bootCount
    self.resetReason = resetReason
    self.uptimeMs = uptimeMs
  }

  /// Reads a payload.
  package init(parsing payload: [UInt8]) throws(WireError) {
    let block = try TLVBlock(parsing: payload, requiring: [.nonce, .version, .bootID])
    nonce = try block.required(.nonce)
    version = try block.required(.version)
    features = block.features()
    limits = block.limits()
    deviceID = block.deviceID()
    firmwareName = block.text(.firmwareName)
    firmwareVersion = block.text(.firmwareVersion)
    buildHash = block.bytes(.buildHash)
    profileHash = block.number(.profileHash)
    capacity = block.number(.capacity)
    bootID = try block.required(.bootID)
    bootCount = block.number(.bootCount)
    resetReason = block.number(.resetReason).map(ResetReason.init(wire:))
    uptimeMs = block.number(.uptime)
  }

  /// The payload's bytes; names and hash longer than 32 bytes are cut.
  package func encoded() -> [UInt8] {
    var payload: [UInt8] = []
    payload.appendMagic()
    payload.appendTLV(.nonce, nonce)
    payload.appendTLV(.version, version)
    payload.appendTLV(.features, features.rawValue)
    payload.appendTLV(limits)
    payload.appendTLV(.bootID, bootID)
    payload.appendTLV(.bootCount, bootCount)
    payload.appendTLV(.resetReason, resetReason?.rawValue)
    payload.appendTLV(.uptime, uptimeMs)
    payload.appendTLVs(deviceID: deviceID, firmwareName: firmwareName, firmwareVersion: firmwareVersion)
    payload.appendTLV(.buildHash, bytes: buildHash)
    payload.appendTLV(.profileHash, profileHash)
    payload.appendTLV(.capacity, capacity)
    return payload
  }
}
