import Conformance
import DeviceEmulator
import Foundation
import NotibotProtocol
import Rigs
import Testing

/// Version 1 of the protocol is frozen: what was accepted of a device is accepted forever.
///
/// NOTIBOT_RECORD=FOLDER keeps the recordings of today's devices there. Those of
/// firmware-fixtures/recorded are kept; a new kind of device is added.
@Suite struct RecordedDeviceTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("../../firmware-fixtures/recorded").standardizedFileURL
  private static let files = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
    .filter { $0.hasSuffix(".jsonl") }.sorted()
  private static let suite = Dictionary(uniqueKeysWithValues: Suite.cases.map { ($0.id, $0) })
  /// Attributes, without the cases that send the most bytes.
  private static let cases = Suite.cases.filter {
    $0.chapter == .att && !$0.id.contains("random-walk") && !$0.id.contains("queue-full")
  }

  @Test func `there is a recording of each kind of device`() {
    #expect(Self.files == ["firmware.jsonl", "stack-bluedroid.jsonl", "stack-nimble.jsonl"])
  }

  @Test(arguments: files)
  func `what a recorded device answered is still accepted`(file: String) async throws {
    let device = try RecordedDevice(contentsOf: Self.folder.appendingPathComponent(file))
    var changed: [String] = []
    for recorded in device.cases {
      guard let testCase = Self.suite[recorded.id],
        let result = await device.replayed(recorded, testCase)
      else {
        changed.append(recorded.id)
        continue
      }
      #expect(
        result.outcome.word == recorded.outcome || result.outcome == .passed, "\(recorded.id): \(result)")
    }
    // A case that sends other bytes proves nothing; most must.
    #expect(changed.count * 10 <= device.cases.count, "\(changed)")
  }

  @Test func `another answer than the recorded one fails`() async throws {
    var device = await Self.recorded(.stackNimBLE)
    let index = try #require(device.cases.firstIndex { $0.id == "ATT-11/permissions" })
    let steps = device.cases[index].steps
    let answer = try #require(steps.lastIndex { $0.contains("<0500010a") })
    device.cases[index].steps[answer] = steps[answer].dropLast(2) + "7f"
    let testCase = try #require(Self.suite["ATT-11/permissions"])
    let result = await device.replayed(device.cases[index], testCase)
    #expect(result?.outcome.word == "failed")
    // Another request than the recorded one proves nothing.
    device.cases[index].steps[0] += "00"
    #expect(await device.replayed(device.cases[index], testCase) == nil)
  }

  @Test func `today's devices can be recorded and replayed`() async throws {
    let firmware = await RecordedDevice.recording(
      RecordedDevice.Head(device: "firmware", server: "own", firstHandle: 1), of: Self.cases
    ) { FirmwareRig(wrapLine: $0) }
    for device in [firmware, await Self.recorded(.stackNimBLE), await Self.recorded(.stackBluedroid)] {
      #expect(device.cases.count > 30)
      for recorded in device.cases {
        let testCase = try #require(Self.suite[recorded.id])
        let result = try #require(await device.replayed(recorded, testCase), "\(recorded.id)")
        #expect(result.outcome.word == recorded.outcome, "\(result)")
      }
      guard let kept = ProcessInfo.processInfo.environment["NOTIBOT_RECORD"] else { continue }
      try device.write(to: URL(fileURLWithPath: "\(kept)/\(device.head.device).jsonl"))
    }
  }

  private static func recorded(_ profile: DeviceProfile) async -> RecordedDevice {
    let head = RecordedDevice.Head(
      device: profile.name, server: "stack", firstHandle: profile.stack?.firstHandle ?? 1,
      mtu: Int(profile.limits.mtu))
    return await RecordedDevice.recording(head, of: cases) {
      EmulatorRig(profile: profile, bearer: .connections, wrapLine: $0)
    }
  }
}
