import NotibotProtocol
import SerialLink
import Testing

@testable import DeviceEmulator

@Suite struct ResetCircuitTests {
  /// DTR and RTS as D1R0 and so on; the effect of each step that has one.
  static let sequences:
    [(name: String, wiring: ResetCircuit.Wiring, steps: String, effects: [ResetCircuit.Effect])] = [
      ("opening a port", .capacitor, "D1R0 D1R1 D0R0", []),
      ("a hard reset", .capacitor, "D1R1 D0R1 D0R0", [.holds, .releases(.application)]),
      (
        "into download mode, one line after the other", .capacitor, "D0R1 D1R1 D1R0 D0R0",
        [.holds, .releases(.download)]
      ),
      ("into download mode in one step", .capacitor, "D0R1 D1R0 D0R0", [.holds, .releases(.download)]),
      ("the same line twice", .capacitor, "D0R1 D0R1 D0R0 D0R0", [.holds, .releases(.application)]),
      ("no capacitor, one after the other", .bare, "D0R1 D1R1 D1R0 D0R0", [.holds, .releases(.application)]),
      ("no capacitor, in one step", .bare, "D0R1 D1R0 D0R0", [.holds, .releases(.download)]),
      ("USB of the chip, hard reset", .usbSerialJTAG, "D0R0 D0R1 D0R0", [.resets(.application)]),
      (
        "USB of the chip, into download mode", .usbSerialJTAG, "D0R0 D1R0 D1R1 D0R1 D0R1 D0R0 D0R1 D0R0",
        [.resets(.download), .resets(.application)]
      ),
    ]

  @Test(arguments: sequences.indices)
  func `the modem lines act on the chip through the board's wiring`(index: Int) {
    let sequence = Self.sequences[index]
    var circuit = ResetCircuit(wiring: sequence.wiring)
    let effects = sequence.steps.split(separator: " ").compactMap { step in
      circuit.drive(ModemLines(dtr: step.contains("D1"), rts: step.contains("R1")))
    }
    #expect(effects == sequence.effects, "\(sequence.name)")
  }

  @Test func `a reset by the modem lines is a boot with another id, and is counted`() {
    var device = WiredDevice(profile: .standard, seed: 1, now: .zero)
    let before = device.statistics
    device.apply(.lines(ModemLines(dtr: false, rts: true)), now: .zero)
    #expect(device.statistics.chip == "held")
    #expect(device.nextDeadline == nil)
    device.receive([0, 1, 2], now: .zero)
    device.apply(.lines(ModemLines(dtr: false, rts: false)), now: .zero + .milliseconds(100))
    #expect(device.statistics.chip == "restarting")
    device.handleTimeout(now: .zero + .milliseconds(400))
    let after = device.statistics
    #expect(after.chip == "running")
    #expect(after.bootCount == before.bootCount + 1)
    #expect(after.bootID != before.bootID)
    #expect(after.lineResets == 1)
    #expect(after.deafBytes == 3)
  }

  @Test func `each reset by the modem lines is counted`() {
    var device = WiredDevice(profile: .standard, seed: 1, now: .zero)
    for _ in 0..<2 {
      device.apply(.lines(ModemLines(dtr: false, rts: true)), now: .zero)
      device.apply(.lines(ModemLines(dtr: false, rts: false)), now: .zero)
    }
    #expect(device.statistics.lineResets == 2)
  }

  @Test func `in download mode the chip reports it, answers nothing, and a button starts the application`() {
    var device = WiredDevice(profile: .standard, seed: 1, now: .zero)
    _ = text(of: &device)
    device.apply(.lines(ModemLines(dtr: false, rts: true)), now: .zero)
    device.apply(.lines(ModemLines(dtr: true, rts: true)), now: .zero)
    device.apply(.lines(ModemLines(dtr: true, rts: false)), now: .zero)
    #expect(device.statistics.chip == "download")
    #expect(text(of: &device).hasSuffix("waiting for download\r\n"))
    device.handleTimeout(now: .zero + .seconds(60))
    #expect(device.nextTransmit() == nil)
    #expect(
      device.perform(.clear, now: .zero + .seconds(60))
        == .refused("the device waits for a download, and no application runs"))
    #expect(device.perform(.reboot(.externalPin), now: .zero + .seconds(60)) == .done)
    device.handleTimeout(now: .zero + .seconds(61))
    #expect(device.statistics.chip == "running")
    #expect(device.statistics.bootCount == 2)
  }

  @Test func `purged bytes are removed from a paced line, in each direction separately`() {
    var profile = DeviceProfile.standard
    profile.wire = WireModel(pace: .paced(bitsPerSecond: 9600))
    var device = WiredDevice(profile: profile, seed: 1, now: .zero)
    device.receive([UInt8](repeating: 0x41, count: 500), now: .zero)
    device.apply(.purgeOutput, now: .zero)
    device.handleTimeout(now: .zero + .seconds(2))
    #expect(device.statistics.bytesReceived == 0)
    device.receive([UInt8](repeating: 0x41, count: 500), now: .zero + .seconds(2))
    device.apply(.purgeInput, now: .zero + .seconds(2))
    device.handleTimeout(now: .zero + .seconds(4))
    #expect(device.statistics.bytesReceived == 500)
  }

  @Test func `a break is a byte of zeros to the device`() {
    var device = WiredDevice(profile: .standard, seed: 1, now: .zero)
    device.apply(.breakState(isOn: true), now: .zero)
    device.apply(.breakState(isOn: false), now: .zero)
    #expect(device.statistics.bytesReceived == 1)
  }

  private func text(of device: inout WiredDevice) -> String {
    var bytes: [UInt8] = []
    while let more = device.nextTransmit() { bytes += more }
    return String(decoding: bytes, as: UTF8.self)
  }
}
