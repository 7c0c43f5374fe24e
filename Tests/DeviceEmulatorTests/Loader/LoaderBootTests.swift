import Digests
import FirmwareImages
import NotibotProtocol
import Testing

@testable import DeviceEmulator

/// What a chip boots, by what lies in its flash.
@Suite struct LoaderBootTests {
  /// An image of an ESP32-C3 with one segment, built from its bytes.
  private func image(_ payload: [UInt8], address: UInt32, chipID: UInt8 = 5) -> [UInt8] {
    var bytes: [UInt8] = [
      0xE9, 1, 2, 0, 0, 0, 0x38, 0x40, 0xEE, 0, 0, 0, chipID, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0, 0,
    ]
    bytes += littleEndian(address) + littleEndian(UInt32(payload.count)) + payload
    while bytes.count % 16 != 15 { bytes.append(0) }
    bytes.append(payload.reduce(0xEF) { $0 ^ $1 })
    return bytes
  }

  private func app(_ version: String) -> [UInt8] {
    let words: [UInt8] = [0x32, 0x54, 0xCD, 0xAB] + [UInt8](repeating: 0, count: 12)
    let text = Array(version.utf8) + [UInt8](repeating: 0, count: 32 - version.utf8.count)
    let name = Array("panel".utf8) + [UInt8](repeating: 0, count: 27)
    return image(words + text + name + [UInt8](repeating: 7, count: 256 - 80), address: 0x3C00_0020)
  }

  private var bootLoader: [UInt8] { image([0x50] + [UInt8](repeating: 0, count: 79), address: 0x3FC8_0000) }

  private func entry(_ type: UInt8, _ subtype: UInt8, _ offset: UInt32, _ size: UInt32) -> [UInt8] {
    [0xAA, 0x50, type, subtype] + littleEndian(offset) + littleEndian(size) + [UInt8](repeating: 0, count: 20)
  }

  /// otadata, the factory application, two slots.
  private var table: [UInt8] {
    entry(1, 0, 0xD000, 0x2000) + entry(0, 0, 0x1_0000, 0x1_0000) + entry(0, 0x10, 0x2_0000, 0x1_0000)
      + entry(0, 0x11, 0x3_0000, 0x1_0000)
  }

  private func flash(_ parts: (Int, [UInt8])...) -> NORFlash {
    var content = [UInt8](repeating: 0xFF, count: 0x10_0000)
    for (start, bytes) in parts { content.replaceSubrange(start..<start + bytes.count, with: bytes) }
    return NORFlash(sizeBytes: 0x10_0000, content: content)!
  }

  private func outcome(_ flash: NORFlash) -> BootOutcome { BootOutcome(chip: .named(.esp32c3), flash: flash) }

  private func text(_ outcome: BootOutcome) -> String {
    if case .failure(let text, _) = outcome { return text }
    return ""
  }

  @Test func `a boot loader starts the application of the partition table`() {
    let outcome = outcome(flash((0, bootLoader), (0x8000, table), (0x1_0000, app("1.2.3"))))
    #expect(outcome.application?.offset == 0x1_0000)
    #expect(outcome.application?.descriptor?.version == "1.2.3")
    #expect(outcome.application?.descriptor?.project == "panel")
    #expect(outcome.application?.loadText.contains("load:0x3fc80000,len:0x50") == true)
  }

  @Test func `an erased flash has the ROM read the header again and again`() {
    #expect(text(outcome(flash())).hasPrefix("invalid header: 0xffffffff\r\ninvalid header: 0xffffffff\r\n"))
  }

  @Test func `each defect has its text, and the next reset`() {
    var damaged = app("1.2.3")
    damaged[40] ^= 1
    let cases: [(NORFlash, String)] = [
      (
        flash(
          (0, bootLoader.prefix(3) + [0x40] + bootLoader.dropFirst(4)), (0x8000, table), (0x1_0000, app("1"))),
        "Detected size(1024k) smaller than the size in the binary image header(16384k)"
      ),
      (flash((0, bootLoader)), "partition 0 invalid magic number 0xffff"),
      (flash((0, bootLoader), (0x8000, table)), "image at 0x10000 has invalid magic byte"),
      (flash((0, bootLoader), (0x8000, table), (0x1_0000, damaged)), "Checksum failed. Calculated 0x"),
      (
        flash((0, bootLoader), (0x8000, table), (0x1_0000, image([1, 2, 3, 4], address: 0, chipID: 9))),
        "mismatch chip ID, expected 5, found 9"
      ),
      (
        flash((0, bootLoader), (0x8000, table + [0xEB, 0xEB] + [UInt8](repeating: 0, count: 30))),
        "Incorrect MD5 checksum"
      ),
    ]
    for (flash, expected) in cases { #expect(text(outcome(flash)).contains(expected)) }
  }

  @Test func `a hash that does not match is found`() {
    var hashed = app("1.2.3")
    hashed[23] = 1
    let digest = SHA256.digest(of: hashed, in: 0..<hashed.count)
    let good = flash((0, bootLoader), (0x8000, table), (0x1_0000, hashed + digest))
    #expect(outcome(good).application != nil)
    let bad = flash((0, bootLoader), (0x8000, table), (0x1_0000, hashed + digest.reversed()))
    #expect(text(outcome(bad)).contains("Image hash failed"))
  }

  /// The record of update 1, with the checksum that ESP-IDF writes; and of update 2.
  static let first: [UInt8] = [1, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 24) + [0x9A, 0x98, 0x43, 0x47]
  static let second: [UInt8] = [2, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 24) + [0x74, 0x37, 0xF6, 0x55]

  @Test func `the newer update runs, and one that is damaged gives way to the one before`() {
    let parts: [(Int, [UInt8])] = [
      (0, bootLoader), (0x8000, table), (0x1_0000, app("0")), (0x2_0000, app("1")), (0x3_0000, app("2")),
    ]
    func booted(_ records: [UInt8], damaging offset: Int? = nil) -> Int? {
      var flash = flash(parts[0], parts[1], parts[2], parts[3], parts[4], (0xD000, records))
      if let offset { flash.program([0], at: offset) }
      return outcome(flash).application?.offset
    }
    let erased = [UInt8](repeating: 0xFF, count: 4096)
    #expect(booted(erased) == 0x1_0000)
    #expect(booted(Self.first + erased.dropFirst(32) + Self.second) == 0x3_0000)
    #expect(booted(Self.first) == 0x2_0000)
    #expect(booted(Self.first + erased.dropFirst(32) + Self.second, damaging: 0x3_0000) == 0x2_0000)
    #expect(booted(Self.first, damaging: 0x2_0000) == 0x1_0000)
    // A record with a wrong checksum counts for nothing.
    #expect(booted(Self.first.dropLast() + [0]) == 0x1_0000)
  }

  @Test func `an image without a boot loader runs on its own`() {
    let outcome = outcome(flash((0, app("4.5.6"))))
    #expect(outcome.application?.hasBootLoader == false)
    #expect(outcome.application?.descriptor?.version == "4.5.6")
  }

  @Test func `random flash contents do not trap`() {
    var generator = SeededGenerator(seed: 3)
    var good = flash((0, bootLoader), (0x8000, table), (0x1_0000, app("1")))
    for _ in 0..<300 {
      let place =
        [0, 0x8000, 0x1_0000, 0xD000].randomElement(using: &generator)!
        + Int.random(in: 0..<64, using: &generator)
      good.program([.random(in: 0...255, using: &generator)], at: place)
      _ = outcome(good)
    }
  }

  // MARK: The device

  private func makeDevice(_ flash: NORFlash, entry: LoaderEntry) -> EmulatedDevice {
    let loader = LoaderMachine(chip: .named(.esp32c3), deviceID: nil, flash: flash)
    var device = EmulatedDevice(profile: .standard, seed: 1, loader: loader, now: .zero)
    device.loaderEntry = entry
    return device
  }

  private func output(_ device: inout EmulatedDevice) -> [UInt8] {
    var bytes: [UInt8] = []
    while let more = device.nextTransmit() { bytes += more }
    return bytes
  }

  @Test func `a chip without an application resets at a bounded rate`() {
    var device = makeDevice(flash(), entry: .sync)
    var now = Instant.zero
    for _ in 0..<5 {
      #expect(String(decoding: output(&device), as: UTF8.self).contains("invalid header: 0xffffffff"))
      guard let next = device.nextDeadline else { break }
      #expect(next >= now + EmulatedDevice.bootLoopTime)
      now = next
      device.handleTimeout(now: now)
      #expect(device.chip == .restarting)
    }
  }

  @Test func `SYNC reaches the loader only over a port without modem lines`() {
    let flash = flash((0, bootLoader), (0x8000, table), (0x1_0000, app("1.2.3")))
    for (entry, chip) in [(LoaderEntry.sync, EmulatedDevice.Chip.download), (.modemLines, .running)] {
      var device = makeDevice(flash, entry: entry)
      #expect(String(decoding: output(&device), as: UTF8.self).contains("App version:      1.2.3"))
      device.receive(loaderSync, now: .zero)
      #expect(device.chip == chip)
      // No text comes before the answer.
      if entry == .sync { #expect(output(&device).starts(with: [0xC0, 1, 8])) }
    }
  }

  @Test func `a reset by the modem lines announces download mode, unless IO0 stays high`() throws {
    var device = makeDevice(flash(), entry: .modemLines)
    _ = output(&device)
    device.hold(now: .zero)
    device.release(into: .download, now: .zero)
    #expect(
      String(decoding: output(&device), as: UTF8.self)
        == "ESP-ROM:esp32c3-api1-20210207\r\nBuild:Feb  7 2021\r\nrst:0x1 (POWERON),boot:0x4 (DOWNLOAD(USB/UART0/1))\r\nwaiting for download\r\n"
    )
    #expect(device.perform(.loaderFaults(try LoaderFaults(parsing: "boot-mode")), now: .zero) == .done)
    device.hold(now: .zero)
    device.release(into: .download, now: .zero)
    #expect(device.chip == .restarting)
  }

  @Test func `closing a port without modem lines ends the loader`() {
    let flash = flash((0, bootLoader), (0x8000, table), (0x1_0000, app("1.2.3")))
    let loader = LoaderMachine(chip: .named(.esp32c3), deviceID: nil, flash: flash)
    var wired = WiredDevice(profile: .standard, seed: 1, loader: loader, now: .zero)
    wired.device.loaderEntry = .sync
    wired.receive(loaderSync, now: .zero)
    #expect(wired.device.chip == .download)
    wired.noticeHost(isPresent: false, now: .zero)
    #expect(wired.device.chip == .restarting)
  }

  @Test func `a device without a flash refuses its faults`() {
    var device = EmulatedDevice(profile: .standard, seed: 1, now: .zero)
    guard case .refused = device.perform(.loaderFaults(.off), now: .zero) else {
      Issue.record("accepted")
      return
    }
  }
}
