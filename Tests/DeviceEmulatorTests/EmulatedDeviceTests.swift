import NotibotProtocol
import Testing

@testable import DeviceEmulator
struct EmulatedDeviceTests {

  @Test func `a write is stored and the count read back shows it`() throws {
    var rig = DeviceRig(profile: .quiet)
    let session = try rig.openSession()
    rig.send(data: [0x02, 0x05, 0x02], sequence: 0, session: session)
    rig.send(data: [0x12, 0x06, 0x00] + Array(sampleJSON.utf8), sequence: 1, session: session)
    rig.send(data: [0x0A, 0x03, 0x00], sequence: 2, session: session)
    #expect(rig.dataPayloads() == [[0x03, 0x05, 0x02], [0x13], [0x0B, 0x01, 0x00]])
    #expect(rig.device.store.items.map(\.json) == [Array(sampleJSON.utf8)])
  }
}
