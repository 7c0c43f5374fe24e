import Conformance
import DeviceEmulator
import Testing

/// The host and the device at the two ends of lines as bad as real ones, in virtual time.
struct DeliveryThroughFaultsTests {
  private static let damage =
    "flip=3e-4,loss=2e-4,insert=2e-4,dup=2e-4,run=1e-4,short=1e-4,garbage=3e-5,splice=1e-3,stale=1e-3,at=2e-4,"
    + "stall=1e-4"

  private func deliver(
    _ profile: DeviceProfile, _ faults: String, seed: UInt64, count: Int = 100
  ) throws -> DeliveryRun.Outcome {
    var run = DeliveryRun(profile: profile, faults: try FaultSpec(parsing: faults), seed: seed, count: count)
    return run.run()
  }

  @Test(arguments: 1...12 as ClosedRange<UInt64>)
  func `corrupted bytes cost time, not notifications`(seed: UInt64) throws {
    let profiles: [DeviceProfile] = [.standard, .cp2102, .ftdi, .usbSerialJTAG, .slowFlash, .mtu23]
    let profile = profiles[Int(seed) % profiles.count]
    let outcome = try deliver(profile, Self.damage, seed: seed)
    #expect(outcome.faults.total > 5, "\(profile.name), seed \(seed): \(outcome)")
    #expect(outcome.accepted + outcome.unknown == 100, "\(profile.name), seed \(seed): \(outcome)")
    #expect(outcome.wrong == 0 && outcome.doubled == 0, "\(profile.name), seed \(seed): \(outcome)")
    #expect(outcome.lost == 0 && outcome.unresolved == 0, "\(profile.name), seed \(seed): \(outcome)")
  }

  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `after restarts, pulled plugs and deaf receivers every outcome is reported`(seed: UInt64) throws {
    let line = ",reboot=3e-5,unplug=3e-5,deaf=3e-5,unplug-ms=300"
    let profile = [DeviceProfile.standard, .usbSerialJTAG, .ftdi, .resetOnOpen][Int(seed) % 4]
    let outcome = try deliver(profile, Self.damage + line, seed: seed)
    #expect(outcome.accepted + outcome.unknown == 100, "\(profile.name), seed \(seed): \(outcome)")
    #expect(outcome.wrong == 0 && outcome.doubled == 0, "\(profile.name), seed \(seed): \(outcome)")
    #expect(outcome.lost == 0 && outcome.unresolved == 0, "\(profile.name), seed \(seed): \(outcome)")
  }

  @Test func `a clean line delivers all in one session`() throws {
    let outcome = try deliver(.standard, "off", seed: 1, count: 500)
    #expect(outcome.accepted == 500 && outcome.unknown == 0 && outcome.sessions == 1)
    #expect(outcome.lost == 0 && outcome.wrong == 0 && outcome.doubled == 0 && outcome.unresolved == 0)
  }

  @Test func `one seed is one run`() throws {
    let first = try deliver(.cp2102, Self.damage, seed: 4)
    #expect(try deliver(.cp2102, Self.damage, seed: 4) == first)
    #expect(try deliver(.cp2102, Self.damage, seed: 5) != first)
  }

  @Test func `a board with a failing supply is reported as such, and the host keeps trying`() throws {
    let outcome = try deliver(.brownout, "off", seed: 1, count: 600)
    #expect(outcome.accepted + outcome.unknown == 600, "\(outcome)")
    #expect(outcome.wrong == 0 && outcome.doubled == 0 && outcome.lost == 0, "\(outcome)")
    #expect(outcome.sessions > 1)
  }
}
