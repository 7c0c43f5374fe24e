public import NotibotProtocol

/// A device's description of itself when a session opens. Texts are as the device sent them:
/// sanitise before printing.
public struct DeviceInfo: Hashable, Sendable {
  /// The base MAC address as printed on the board: `24:6F:28:AA:BB:CC`.
  public var deviceID: String?
  /// TLV FIRMWARE_NAME; `nil` if the device does not send it.
  public var firmwareName: String?
  /// TLV FIRMWARE_VERSION; `nil` if the device does not send it.
  public var firmwareVersion: String?
  /// Hash of the firmware's build, at most 32 bytes.
  public var buildHash: [UInt8]?
  /// Random at each boot: a different value means that the device restarted.
  public var bootID: UInt32
  /// Boots since the device was manufactured.
  public var bootCount: UInt32?
  /// The reason for the last restart; `nil` if the device does not send it.
  public var resetReason: ResetReason?
  /// Milliseconds since boot, when the session opened.
  public var uptimeMs: UInt64?
  /// Capacity of its store, in notifications.
  public var capacity: Int?
  /// The largest attribute PDU of this session, in bytes, 23...528.
  public var mtu: Int
  /// Requests that it allows in flight, 1...32.
  public var requestsLimit: Int
  /// Whether notifications have an identity in this session: both sides know the optional keys.
  public var hasIdentity: Bool
  /// Whether both sides compare what is on the display (SYNC).
  public var hasSync: Bool
  /// Whether the device keeps actions until the host has them.
  public var keepsActions: Bool

  /// Before the first session opens.
  static let unknown = DeviceInfo(
    SynAck(nonce: 0, bootID: 0), mtu: Int(NotibotProfile.firstMTU), features: [])

  /// - Parameter features: those in use.
  init(_ answer: SynAck, mtu: Int, features: Features) {
    deviceID = answer.deviceID?.description
    firmwareName = answer.firmwareName
    firmwareVersion = answer.firmwareVersion
    buildHash = answer.buildHash
    bootID = answer.bootID
    bootCount = answer.bootCount
    resetReason = answer.resetReason
    uptimeMs = answer.uptimeMs
    capacity = answer.capacity.map(Int.init)
    self.mtu = mtu
    requestsLimit = answer.features.contains(.pipelinedRequests) ? Int(answer.limits.requests) : 1
    hasIdentity = features.contains(.optionalKeys)
    hasSync = features.contains(.sync)
    keepsActions = features.contains(.keptActions)
  }

  /// Whether this is another boot than that of an earlier session, although both have one boot id:
  /// a device without a source of randomness repeats it.
  func hasRestarted(since earlier: DeviceInfo?) -> Bool {
    guard let earlier, earlier.bootID == bootID, earlier.deviceID == deviceID else { return false }
    if let former = earlier.bootCount, let bootCount, former != bootCount { return true }
    if let former = earlier.uptimeMs, let uptimeMs, uptimeMs < former { return true }
    return false
  }
}
