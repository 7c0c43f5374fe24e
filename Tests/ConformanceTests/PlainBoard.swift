import Conformance
import DeviceEmulator
import NotibotProtocol

@testable import Rigs

/// A device on a desk: only its line is accessible. Each of these is lawful, so no case is allowed
/// to fail on it.
struct PlainBoard: Sendable, CustomStringConvertible {
  let name: String
  let makeRig: @Sendable () async throws -> any Rig
  /// Capabilities it lacks: the beginning of the reason, and the skipped cases.
  let skips: [String: Set<String>]
  /// Whether cases can also be skipped because the store has no room: it is never emptied in
  /// between.
  let hasSmallStore: Bool

  var description: String { name }

  static let all = emulated + firmware

  private static let emulated: [PlainBoard] = [
    emulator("4 writers") { _ in },
    emulator("8 writers, others' notifications", isUsed: true) { $0.writersLimit = 8 },
    emulator("64 writers, others' notifications", isUsed: true) { $0.writersLimit = 64 },
    emulator("drops frames out of order") { $0.outOfOrder = .dropped },
    emulator("the largest limits, deep queues", skips: [shortOfBytes]) {
      $0.limits = LinkLimits(frames: 64, requests: 32, mtu: 528, bytes: 65_536)
      $0.writersLimit = 64
      $0.eventsLimit = 4096
    },
    emulator("the least limits", skips: [least, narrow, narrowBurst, serialWrites]) {
      $0.limits = LinkLimits(frames: 2, requests: 1, mtu: 23, bytes: 1080)
      $0.outOfOrder = .dropped
    },
    emulator(
      "the least limits, keeps frames out of order", skips: [least, narrow, narrowBurst, serialWrites]
    ) {
      $0.limits = LinkLimits(frames: 2, requests: 1, mtu: 23, bytes: 1080)
    },
    emulator("MTU 23", skips: [narrow, narrowBurst, narrowPipeline]) { $0.limits.mtu = 23 },
    emulator("a store of 8, others' notifications", hasSmallStore: true, isUsed: true) { $0.capacity = 8 },
    emulator("no features", skips: [serial, withoutPipelines, withoutKeys]) { $0.features = [] },
    emulator("keys without SYNC", skips: [withoutSYNC]) {
      $0.features = [.pipelinedRequests, .optionalKeys]
    },
    emulator("firmware mode", skips: [withoutKeys]) { $0.mode = .firmware },
  ]

  private static let firmware: [PlainBoard] = [
    firmware("C, 4 writers", .standard),
    firmware("C, 8 writers, others' notifications", .standard, isUsed: true) { $0.writers = 8 },
    firmware("C, 64 writers, others' notifications", .standard, isUsed: true) { $0.writers = 64 },
    firmware("C, the largest limits", .standard, skips: [shortOfBytes]) {
      ($0.frames, $0.requests, $0.mtu, $0.receiveBytes) = (64, 32, 528, 65_535)
    },
    firmware("C, the least limits", .standard, skips: [least, narrow, narrowBurst, serialWrites]) {
      ($0.frames, $0.requests, $0.mtu, $0.receiveBytes) = (2, 1, 23, 1080)
    },
    firmware("C, the least device", .standard, skips: [least, narrow, withoutPipelines, withoutKeys]) {
      ($0.frames, $0.requests, $0.mtu, $0.receiveBytes) = (2, 1, 23, 1080)
      $0.features = 0
    },
    firmware(
      "C, four keys", .plain, skips: [serial, shortWindow, shortOfBytes, withoutPipelines, withoutKeys]),
    firmware(
      "C, a store of 8, others' notifications", .small, skips: [small], hasSmallStore: true, isUsed: true
    ) {
      $0.capacity = 8
    },
  ]

  private typealias Skips = [String: Set<String>]

  /// No frame is resent while a later one is acknowledged.
  private static let shortWindow: Skips = ["the device takes fewer than 3 requests": ["LNK-51/no-sample"]]
  /// No frame of the window is beyond the bytes.
  private static let shortOfBytes: Skips = ["the window ends before the bytes": ["LNK-32/bytes-held"]]
  /// Two frames and one request leave no room for holes and pipelines.
  private static let least = serial.merging([
    "the device takes 2 frames": ["LNK-32/granted-when-handled"],
    "the window ends before the bytes": ["LNK-32/bytes-held"],
    "the device takes fewer than 3 requests": ["LNK-51/no-sample"],
    "the device takes fewer than 3 frames": ["LNK-41/credit-goes-back"],
    "the device takes fewer than 4 frames": ["LNK-33/one-nak-per-round", "LNK-33/second-hole"],
  ]) { $0.union($1) }
  /// These cases are about PDUs longer than the MTU; those that only write a notification do so in
  /// parts.
  private static let narrow: Skips = [
    "the MTU is 23, the case needs": [
      "ATT-9/whole-values", "ATT-14/queue-of-1024-bytes", "ATT-14/order-of-checks", "ATT-13/513-bytes",
      "ATT-12/change-waits", "ATT-19/count-behind-its-writes", "LNK-35/resent-count",
    ],
    "the MTU is 23, the case needs 128": [
      "NTF-11/numbers-go-on", "NTF-11/report-that-just-fits", "ATT-19/eight-expire",
      "ATT-12/unsubscribing-drops", "NTF-11/numbers-of-accepted", "ATT-12/others-stay",
      "ATT-12/unsubscribed-during-sync", "ATT-3/waiting-ends", "NTF-31/behind-waiting",
      "NTF-26/largest-numbers", "NTF-30/overflow-without-bit",
    ],
    "the device's MTU": ["ATT-8/smaller-of-both", "FRM-2/full-block-sent", "LNK-42/byte-limit"],
  ]
  /// A long write is a barrier (ATT-6), so that writes in parallel need Write Requests.
  private static let narrowBurst: Skips = ["the MTU is 23, the case needs": ["ATT-5/writes-in-order"]]
  private static let narrowPipeline: Skips = ["the MTU is 23, the case needs": ["NTF-23/pipelined"]]
  /// Holes among several answers.
  private static let bitmaps: Set<String> = [
    "LNK-34/every-bit", "LNK-34/nak-bitmap", "LNK-51/held-oldest", "LNK-51/held-spared",
  ]
  /// One request at a time.
  private static let serial: Skips = [
    "the device takes fewer than 2 requests": ["LNK-34/many-sendings"],
    "the device takes fewer than 3 requests": bitmaps,
    "the device takes fewer than 4 requests": ["LNK-32/nothing-twice", "LNK-34/lost-again"],
    "the device takes one request": ["ATT-6/failure-in-between", "ATT-6/full-window", "ATT-6/pipelined"],
  ]
  private static let serialWrites: Skips = [
    "the device takes fewer than 5 requests": ["NTF-23/pipelined"]
  ]
  /// Feature bit 0 is missing too.
  private static let withoutPipelines: Skips = [
    "the device takes one request": [
      "ATT-5/writes-in-order", "LNK-43/unacknowledged-limit", "ATT-12/change-waits",
      "ATT-19/count-behind-its-writes",
    ]
  ]
  /// Everything about identities and SYNC, except that they are not in use.
  private static let withoutKeys: Skips = [
    "the device announces features": Set(Suite.cases.filter { $0.chapter == .delivery }.map(\.id))
      .union(["LNK-23/fresh-sync", "LNK-35/resent-count"]).subtracting([
        "NTF-20/not-in-use", "NTF-30/not-in-use",
      ])
  ]
  private static let withoutSYNC = withoutKeys.mapValues { $0.subtracting(["NTF-26/without-bit-2"]) }
  /// Limits with an MTU of 185 and two requests.
  private static let small: Skips = [
    "the MTU is 185, the case needs": ["ATT-14/order-of-checks", "ATT-13/513-bytes"],
    "the device's MTU": ["FRM-2/full-block-sent", "LNK-42/byte-limit"],
    "the device takes fewer than 3 requests": bitmaps.union(["LNK-51/no-sample"]),
    "the device takes fewer than 4 requests": ["LNK-32/nothing-twice", "LNK-34/lost-again"],
  ]

  private static func emulator(
    _ name: String, skips: [Skips] = [], hasSmallStore: Bool = false, isUsed: Bool = false,
    _ change: (inout DeviceProfile) -> Void
  ) -> PlainBoard {
    var profile = DeviceProfile.standard
    profile.capacity = 220
    // In 60 days of silence, a line every 10 s would take hours.
    profile.console.logInterval = nil
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
    profile.capacity = 220
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

  /// Notifications of three writers and one without identity, as on a board that was in use.
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
