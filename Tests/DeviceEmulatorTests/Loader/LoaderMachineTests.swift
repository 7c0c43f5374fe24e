import NotibotProtocol
import Testing

@testable import DeviceEmulator

/// The bytes of these exchanges were recorded with esptool 5.6.0.
@Suite struct LoaderMachineTests {
  static let romOK: [UInt8] = [0, 0, 0, 0]

  @Test func `SYNC gets eight answers, the stub's with the value 0`() {
    var rig = LoaderRig()
    let rom: [UInt8] = [0xC0, 1, 8, 4, 0, 0x07, 0x07, 0x12, 0x20, 0, 0, 0, 0, 0xC0]
    #expect(rig.send(loaderSync) == [[UInt8]](repeating: rom, count: 8).flatMap(\.self))
    rig.startStub()
    let stub: [UInt8] = [0xC0, 1, 8, 2, 0, 0, 0, 0, 0, 0, 0, 0xC0]
    #expect(rig.send(loaderSync) == [[UInt8]](repeating: stub, count: 8).flatMap(\.self))
  }

  static let romExchanges: [(chip: ChipModel.Name, request: [UInt8], answer: [UInt8])] = [
    (
      .esp32c3, [0xC0, 0, 0x14, 0, 0, 0, 0, 0, 0, 0xC0],
      [
        0xC0, 1, 0x14, 0x18, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0C, 5, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0,
        0xC0,
      ]
    ),
    (
      .esp32, [0xC0, 0, 0x14, 0, 0, 0, 0, 0, 0, 0xC0],
      [0xC0, 1, 0x14, 4, 0, 0, 0, 0, 0, 1, 5, 0, 0, 0xC0]
    ),
    (
      .esp32, [0xC0, 0, 0x0A, 4, 0, 0, 0, 0, 0, 0, 0x10, 0, 0x40, 0xC0],
      [0xC0, 1, 0x0A, 4, 0, 0x83, 0x1D, 0xF0, 0, 0, 0, 0, 0, 0xC0]
    ),
    (
      .esp32s3, [0xC0, 0, 0x0A, 4, 0, 0, 0, 0, 0, 0, 0x10, 0, 0x40, 0xC0],
      [0xC0, 1, 0x0A, 4, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0xC0]
    ),
    (
      .esp32c3, [0xC0, 0, 0x0A, 4, 0, 0, 0, 0, 0, 0, 0x10, 0, 0x40, 0xC0],
      [0xC0, 1, 0x0A, 4, 0, 0x6F, 0x50, 0x31, 0x1B, 0, 0, 0, 0, 0xC0]
    ),
    // The MAC address with its CRC-8.
    (
      .esp32, [0xC0, 0, 0x0A, 4, 0, 0, 0, 0, 0, 0x08, 0xA0, 0xF5, 0x3F, 0xC0],
      [0xC0, 1, 0x0A, 4, 0, 0xB1, 0xA0, 0x18, 0, 0, 0, 0, 0, 0xC0]
    ),
    (
      .esp32c3, [0xC0, 0, 0x0A, 4, 0, 0, 0, 0, 0, 0x44, 0x88, 0, 0x60, 0xC0],
      [0xC0, 1, 0x0A, 4, 0, 0xF5, 0xE4, 0xD3, 0xC2, 0, 0, 0, 0, 0xC0]
    ),
    (
      .esp32, [0xC0, 0, 0x0D, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xC0],
      [0xC0, 1, 0x0D, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xC0]
    ),
    (
      .esp32,
      [
        0xC0, 0, 2, 0x10, 0, 0, 0, 0, 0, 0xB8, 0x0B, 0, 0, 3, 0, 0, 0, 0, 4, 0, 0, 0, 0, 1, 0, 0xC0,
      ],
      [0xC0, 1, 2, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xC0]
    ),
    // An unknown operation, and a length that is wrong.
    (.esp32, [0xC0, 0, 0x77, 0, 0, 0, 0, 0, 0, 0xC0], [0xC0, 1, 0x77, 4, 0, 0, 0, 0, 0, 1, 5, 0, 0, 0xC0]),
    (
      .esp32, [0xC0, 0, 0x0A, 4, 0, 0, 0, 0, 0, 0, 0xC0], [0xC0, 1, 0x0A, 4, 0, 0, 0, 0, 0, 1, 5, 0, 0, 0xC0]
    ),
  ]

  @Test(arguments: romExchanges.indices, [1, 2, 3, 64])
  func `the ROM answers as recorded, however a request is cut`(index: Int, pieceBytes: Int) {
    let exchange = Self.romExchanges[index]
    var rig = LoaderRig(exchange.chip)
    var answer: [UInt8] = []
    for start in stride(from: 0, to: exchange.request.count, by: pieceBytes) {
      answer += rig.send(Array(exchange.request[start..<min(exchange.request.count, start + pieceBytes)]))
    }
    #expect(answer == exchange.answer)
  }

  @Test func `code with an entry starts the stub, which says OHAI`() {
    var rig = LoaderRig()
    _ = rig.request(0x05, words: [0xD4, 1, 0x1800, 0x3FFD_ED6C])
    _ = rig.block(0x07, [UInt8](repeating: 1, count: 0xD4), sequence: 0)
    #expect(
      rig.request(0x06, words: [0, 0x4038_0E9A])
        == [0xC0, 1, 6, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xC0, 0xC0, 0x4F, 0x48, 0x41, 0x49, 0xC0])
    #expect(rig.loader.mode == .stub)
    // Two status bytes from now on; and an operation of the ROM only.
    #expect(rig.request(0x0A, words: [0]) == [0xC0, 1, 0x0A, 2, 0, 0, 0, 0, 0, 0, 0, 0xC0])
    #expect(rig.request(0x0E, words: [0, 64]) == [0xC0, 1, 0x0E, 2, 0, 0, 0, 0, 0, 0xFF, 0, 0xC0])
    rig.loader.reset()
    #expect(rig.loader.mode == .rom)
  }

  @Test func `code without an entry leaves the ROM in charge`() {
    var rig = LoaderRig()
    #expect(rig.request(0x06, words: [1, 0]) == [0xC0, 1, 6, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xC0])
    #expect(rig.loader.mode == .rom)
  }

  @Test func `the SPI controller reads the id of the flash`() {
    var rig = LoaderRig(.esp32)
    for (address, value): (UInt32, UInt32) in [
      (0x3FF4_202C, 17), (0x3FF4_201C, 0x9000_0000), (0x3FF4_2024, 0x7000_009F), (0x3FF4_2080, 0),
      (0x3FF4_2000, 0x0004_0000),
    ] { _ = rig.request(0x09, words: [address, value, .max, 0]) }
    #expect(rig.request(0x0A, words: [0x3FF4_2000])[5...8] == [0, 0, 0, 0])
    // A W25Q80: 1 MiB.
    #expect(rig.request(0x0A, words: [0x3FF4_2080])[5...8] == [0xEF, 0x40, 0x14, 0])
  }

  @Test func `a new rate holds from the answer on, and another one is garbled`() {
    var rig = LoaderRig()
    rig.loader.setHostRate(115_200)
    _ = rig.send(loaderSync)
    let answer = rig.request(0x0F, words: [921_600, 0])
    #expect(answer == [0xC0, 1, 0x0F, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xC0])
    #expect(rig.request(0x0A, words: [0]).isEmpty)
    #expect(rig.loader.garbledBytes > 0)
    rig.loader.setHostRate(921_600)
    #expect(rig.request(0x0A, words: [0]).count == 14)
  }

  @Test func `a watchdog that a host starts resets the chip later`() {
    var rig = LoaderRig()
    _ = rig.request(0x09, words: [0x6000_8090, 0xD000_0102, .max, 0])
    #expect(rig.loader.nextDeadline == rig.now + LoaderMachine.watchdogTime)
    rig.loader.handleTimeout(now: rig.now + LoaderMachine.watchdogTime)
    #expect(rig.loader.nextAction() == .restart(.otherWatchdog))
    #expect(rig.loader.nextDeadline == nil)
  }

  @Test func `a host that reads nothing does not grow the answers`() {
    var rig = LoaderRig()
    for _ in 0..<2000 { rig.loader.receive(loaderSync, now: rig.now) }
    #expect(rig.drainBytes().count <= LoaderMachine.outputLimitBytes)
  }

  @Test func `random requests and noise neither trap nor leave the flash`() {
    var generator = SeededGenerator(seed: 2217)
    var rig = LoaderRig()
    for round in 0..<4000 {
      if round % 200 == 100 { rig.startStub() }
      if round % 200 == 0 { rig.loader.reset() }
      var data = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator) >> UInt8.random(in: 0...7, using: &generator)
      }
      // Small words, which more requests accept.
      for index in data.indices where index % 4 > 1 { data[index] = 0 }
      let code = [UInt8](0x02...0x14).randomElement(using: &generator) ?? 0
      _ = rig.request(round % 3 == 0 ? code | 0xD0 : code, data, checksum: data.first ?? 0)
      #expect(rig.loader.flash.sizeBytes == 0x10_0000)
    }
  }
}
