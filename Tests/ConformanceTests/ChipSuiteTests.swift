import Conformance
import Foundation
import NotibotProtocol
import SerialLink
import Testing

@testable import Rigs
import SuiteWire

/// The suite on the images for the ESP32-C3 that are in the repository, on a model of the chip.
@Suite struct ChipSuiteTests {
  /// Chips start from power-on in each case, so that nothing else is skipped.
  private static let skips: [String: Set<String>] = [
    "needs connection": ["NTF-21/src-key-required", "NTF-23/over-ble", "NTF-26/over-ble"],
    "the line takes time": [
      "LNK-32/granted-when-handled", "LNK-51/anew-after-nak", "LNK-20/random-walk-of-bursts",
    ],
  ]

  /// The core's clock is the same on both lines: months pass on one of them.
  private static func cases(on port: PortName.ChipLine) -> [Case] {
    port == .uart
      ? Suite.cases
      : Suite.cases.filter { $0.leadToWrap == nil && !$0.id.hasSuffix("60-days") }
  }

  @Test(arguments: PortName.ChipLine.allCases)
  func `the image in the repository breaks no rule`(port: PortName.ChipLine) async throws {
    let rig = try await ChipRig(image: .repository(port), port: port)
    let results = await Runner(rig: rig, seed: SuiteRun.seed).run(Self.cases(on: port)) { _ in }
    var skipped = reasonsOfSkipped(among: results, "\(port)")
    let ids = Set(results.map(\.testCase.id))
    for (reason, expected) in Self.skips {
      for id in expected.intersection(ids) {
        #expect(skipped[id]?.hasPrefix(reason) == true, "\(id) is not skipped")
        skipped[id] = nil
      }
    }
    #expect(skipped == [:])
  }

  @Test func `a power cycle is another first boot`() throws {
    let board = try ChipBoard(image: .repository(.uart), port: .uart, seed: 1)
    #expect(try board.awaitReady())
    #expect(try board.perform("01") == "ok")
    #expect(try board.awaitReady())
    board.powerCycle()
    #expect(try board.awaitReady())
    #expect(try bootText(of: board).contains("notibot: boot 1, reset reason 1, link on UART0"))
    #expect(board.statistics.boots == 3)
  }

  /// EN is power-on to this chip; the reset of its USB keeps the memory of the RTC.
  @Test(arguments: [
    (PortName.ChipLine.uart, "boot 1, reset reason 1, link on UART0"),
    (.usb, "boot 2, reset reason 2, link on USB-Serial-JTAG"),
  ])
  func `the modem lines reset the chip`(port: PortName.ChipLine, text: String) throws {
    let board = try ChipBoard(image: .repository(port), port: port, seed: 1)
    #expect(try board.awaitReady())
    _ = try bootText(of: board)
    try board.resetByLines()
    #expect(try board.awaitReady())
    #expect(try bootText(of: board).contains("notibot: \(text)"))
  }

  private func bootText(of board: ChipBoard) throws -> String {
    var bytes: [UInt8] = []
    let end = board.now + .milliseconds(100)
    while board.now < end { bytes += try board.read(until: end) }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test(arguments: PortName.ChipLine.allCases)
  func `a host that sends while the chip boots is answered afterwards`(line: PortName.ChipLine) async throws {
    let board = try ChipBoard(image: .repository(line), port: line, seed: 1)
    let probe = Probe(line: board, role: .host, record: Record(), seed: 1)
    for _ in 0..<20 {
      try await probe.write(probe.syn(Probe.synTLVs(nonce: probe.makeNonce())))
      _ = try await probe.frames(for: .milliseconds(2))
    }
    try await probe.openSession(attempts: 2)
  }

  @Test func `a copy goes on as the original does`() throws {
    let board = try ChipBoard(image: .repository(.uart), port: .uart, seed: 7)
    #expect(try board.awaitReady())
    let copy = try board.copy()
    try board.skip(until: board.now + .seconds(3))
    try copy.skip(until: copy.now + .seconds(3))
    #expect(board.statistics == copy.statistics)
  }

  @Test func `a pulled plug ends the port, and the chip runs on`() throws {
    for port in PortName.ChipLine.allCases {
      let board = try ChipBoard(image: .repository(port), port: port, seed: 1)
      #expect(try board.awaitReady())
      board.unplug()
      #expect(throws: RigTrouble.self) { try board.read(until: board.now + .seconds(1)) }
      board.reopen()
      #expect(try board.perform("stats").hasPrefix("ok count 0 "))
      #expect(board.statistics.boots == 1)
    }
  }

  @Test(arguments: [
    ("/nowhere.bin", "there is no image at /nowhere.bin"), ("/tmp", "/tmp is not a file"),
    ("/dev/null", "/dev/null is not a file"),
    ("/etc/passwd", "/etc/passwd is not an image for ESP32-C3: it does not begin with 0xE9"),
  ])
  func `what is not an image is refused with the reason`(path: String, reason: String) {
    let error = #expect(throws: RigTrouble.self) { _ = try ChipImage.read(path, line: .uart) }
    #expect(error?.message.hasPrefix(reason) == true)
  }

  @Test func `a bootloader at another chip's place is refused as flash refuses it`() throws {
    // An ESP32-C3 image of one segment of 16 zeros, without a description.
    var image: [UInt8] = [
      0xE9, 1, 2, 0x20, 0, 0, 0x38, 0x40, 0xEE, 0, 0, 0, 5, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0, 0,
    ]
    image += [0, 0, 0xC8, 0x3F, 16, 0, 0, 0] + [UInt8](repeating: 0, count: 31) + [0xEF]
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).bin").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Data([UInt8](repeating: 0xFF, count: 0x1000) + image).write(to: URL(fileURLWithPath: path))
    let error = #expect(throws: RigTrouble.self) { _ = try ChipImage.read(path, line: .uart) }
    #expect(error?.message.contains("is at 0x1000 instead of 0x0") == true, "\(error?.message ?? "")")
  }

  @Test func `the image of the other line does not answer`() async throws {
    let error = await #expect(throws: Failure.self) {
      _ = try await ChipRig(image: .repository(.usb), port: .uart)
    }
    #expect(error?.message.contains("cannot be tested: no SYNACK") == true)
  }
}

extension ChipImage {
  /// The one that is checked in.
  fileprivate static func repository(_ port: PortName.ChipLine) throws -> ChipImage {
    let root = (0..<3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    let path = root.appendingPathComponent("\(folder)/notibot-esp32c3-\(port.rawValue).bin").path
    return try read(path, line: port)
  }
}
