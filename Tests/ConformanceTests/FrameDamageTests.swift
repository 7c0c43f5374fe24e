import DeviceEmulator
import Testing

struct FrameDamageTests {
  @Test(arguments: FrameDamage.kinds)
  func `no fault produces a wrong frame or loses a byte, and one byte costs one frame`(kind: FaultKind) {
    var damage = FrameDamage(kind, seed: 7)
    damage.run(frames: 1500)
    damage.finish()
    #expect(damage.faults > 40)
    #expect(damage.wrong == 0)
    #expect(damage.unaccountedBytes == 0)
    #expect(damage.lost > 0)
    #expect(damage.isWithinLimits, "\(kind): \(damage.lostPerFault)")
  }
}
