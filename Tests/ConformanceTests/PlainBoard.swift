import DeviceEmulator
import NotibotProtocol

@testable import Conformance

/// A device on a desk: nothing but its line reaches it. Any of these is lawful, so no case may fail on it.
struct PlainBoard: Sendable, CustomStringConvertible {
  let name: String
  let makeRig: @Sendable () async throws -> any Rig
  /// What cannot be asked of it: the beginning of the reason, and the cases.
  let skips: [String: Set<String>]
  /// Whether cases may be skipped for want of room in the store as well: nobody empties it in between.
  let hasSmallStore: Bool

  var description: String { name }

  static let all = emulated + firmware

  private static let emulated: [PlainBoard] = [
    emulator("4 writers") { _ in },
    emulator("8 writers, others' notifications", isUsed: true) { $0.writersLimit = 8 },
    emulator("64 writers, others' notifications", isUsed: true) { $0.writersLimit = 64 },
    emulator("drops frames out of order") { $0.outOfOrder = .dropped },
    emulator("the largest limits, deep queues") {
      $0.limits = LinkLimits(frames: 64, requests: 32, mtu: 528, bytes: 65_536)
      $0.writersLimit = 64
      $0.eventsLimit = 4096
    },
    emulator("the least limits", skips: [least, narrow]) {
      $0.limits = LinkLimits(frames: 2, requests: 1, mtu: 23, bytes: 1080)
      $0.outOfOrder = .dropped
    },
    emulator("the least limits, keeps frames out of order", skips: [least, narrow]) {
      $0.limits = LinkLimits(frames: 2, requests: 1, mtu: 23, bytes: 1080)
    },
    emulator("MTU 23", skips: [narrow, narrowPipeline]) { $0.limits.mtu = 23 },
    emulator("a store of 8, others' notifications", hasSmallStore: true, isUsed: true) { $0.capacity = 8 },
    emulator("no features", skips: [serial, withoutKeys]) { $0.features = [] },
    emulator("keys without SYNC", skips: [withoutSync]) {
      $0.features = [.pipelinedRequests, .optionalKeys]
    },
    emulator("firmware mode", skips: [withoutKeys]) { $0.mode = .firmware },
  ]

  private static let firmware: [PlainBoard] = [
    firmware("C, 4 writers", .standard),
    firmware("C, 8 writers, others' notifications", .standard, isUsed: true) { $0.writers = 8 },
    firmware("C, 64 writers, others' notifications", .standard, isUsed: true) { $0.writers = 64 },
    firmware("C, the largest limits", .standard) {
      ($0.frames, $0.requests, $0.mtu, $0.receiveBytes) = (64, 32, 528, 65_535)
    },
    firmware("C, the least limits", .standard, skips: [least, narrow]) {
      ($0.frames, $0.requests, $0.mtu, $0.receiveBytes) = (2, 1, 23, 1080)
    },
    firmware("C, the least device", .standard, skips: [least, narrow, withoutKeys]) {
      ($0.frames, $0.requests, $0.mtu, $0.receiveBytes) = (2, 1, 23, 1080)
      $0.features = 0
    },
    firmware("C, four keys", .plain, skips: [serial, withoutKeys]),
    firmware("C, a store of 8, others' notifications", .small, hasSmallStore: true, isUsed: true) {
      $0.capacity = 8
    },
  ]

  private typealias Skips = [String: Set<String>]

  private static let least: Skips = [:]
  private static let narrow: Skips = [:]
  private static let narrowPipeline: Skips = [:]
  private static let serial: Skips = [:]
  private static let withoutKeys: Skips = [:]
  private static let withoutSync: Skips = [:]

  private static func emulator(
    _ name: String, skips: [Skips] = [], hasSmallStore: Bool = false, isUsed: Bool = false,
    _ change: (inout DeviceProfile) -> Void
  ) -> PlainBoard {
    var profile = DeviceProfile.standard
    profile.capacity = 512
    change(&profile)
    return PlainBoard(name, skips, hasSmallStore) { [profile] in
      let device = VirtualDevice(wired: WiredDevice(profile: profile, seed: 5, now: .zero))
      return try await PlainBoardRig(
        device, seed: 11, isStrict: profile.mode == .strict, prepare: isUsed ? useByOthers : { _ in })
    }
  }

  private static func firmware(
    _ name: String, _ profile: FirmwareProfile, skips: [Skips] = [], hasSmallStore: Bool = false,
    isUsed: Bool = false, _ change: (inout FirmwareProfile) -> Void = { _ in }
  ) -> PlainBoard {
    var profile = profile
    profile.capacity = 512
    change(&profile)
    return PlainBoard(name, skips, hasSmallStore) { [profile] in
      let device = try FirmwareDevice(profile: profile, seed: 5, now: .zero)
      return try await PlainBoardRig(
        device, seed: 11, isStrict: !profile.isFirmwareMode, prepare: isUsed ? useByOthers : { _ in })
    }
  }

  private init(
    _ name: String, _ skips: [Skips], _ hasSmallStore: Bool,
    makeRig: @escaping @Sendable () async throws -> any Rig
  ) {
    self.name = name
    self.makeRig = makeRig
    self.hasSmallStore = hasSmallStore
    self.skips = skips.reduce(into: [:]) { all, more in all.merge(more) { $0.union($1) } }
  }

  /// Notifications of three writers and one without identity, as a board has that was in use.
  private static func useByOthers(_ probe: Probe) async throws {
    try await probe.openDelivery()
    for _ in 1...3 {
      let source = probe.makeSource()
      for id in 1...2 { try await probe.expectWritten(notification(",\"id\":\(id),\"src\":\(source)")) }
    }
    try await probe.expectWritten(notification(""))
  }

  private static func notification(_ more: String) -> [UInt8] {
    Array("{\"app\":\"a\",\"title\":\"of another\",\"text\":\"\",\"timestamp\":1\(more)}".utf8)
  }
}
