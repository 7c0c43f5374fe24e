import CFirmwareHost

/// The properties of a build of the reference firmware that a host can observe.
package struct FirmwareProfile: Sendable {
  package let name: String
  /// DATA frames accepted beyond the last handled one, 2–64.
  package var frames: UInt8
  /// ATT requests at a time, 1–32 and at most half of `frames`.
  package var requests: UInt8
  /// Largest ATT PDU, 23–528 bytes.
  package var mtu: UInt16
  /// Bytes of DATA frames accepted beyond the last handled one, 1080 or more.
  package var receiveBytes: UInt16
  /// The capacity of the store, in notifications.
  package var capacity: UInt16
  /// Writers that are known at the same time, 4–255.
  package var writers: UInt8 = 4
  /// Feature bits as in SYNACK.
  package var features: UInt8
  /// Never refuses a notification (NTF-9).
  package var isFirmwareMode = false

  /// The usual values of PROTOCOL.md, with all features.
  package static let standard = FirmwareProfile(
    name: "standard", frames: 16, requests: 8, mtu: 517, receiveBytes: 4096, capacity: 128, features: 0x1F)
  /// The build that must fit in 6 KiB of memory: 4 frames, and the minimum of all other limits.
  package static let small = FirmwareProfile(
    name: "small", frames: 4, requests: 2, mtu: 185, receiveBytes: 1080, capacity: 64, features: 0x1F)
  /// Four keys, and one request at a time.
  package static let plain = FirmwareProfile(
    name: "plain", frames: 8, requests: 1, mtu: 528, receiveBytes: 4096, capacity: 64, features: 0x8)

  package static let all = [standard, small, plain]

  /// The same for C.
  var hostProfile: nb_host_profile_t {
    var profile = nb_host_profile_t()
    profile.frames = frames
    profile.requests = requests
    profile.mtu = mtu
    profile.rx_queue_bytes = receiveBytes
    profile.tx_queue_bytes = 2048
    profile.capacity = capacity
    profile.writer_count = writers
    profile.features = isFirmwareMode ? features & ~0x16 : features
    profile.is_firmware_mode = isFirmwareMode
    profile.can_evict = true
    return profile
  }
}
