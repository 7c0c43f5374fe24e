import NotibotProtocol
import SerialLink
import Testing

@testable import DeviceEmulator

@Suite struct LoaderFaultTests {
  /// A loader that waits for raw blocks of 16 bytes at address 0.
  private func makeRig(_ spec: String) throws -> LoaderRig {
    var rig = LoaderRig(faults: try LoaderFaults(parsing: spec))
    _ = rig.request(0x02, words: [4096, 256, 16, 0, 0])
    return rig
  }

  private func status(_ answer: [UInt8]) -> [UInt8] { Array(answer.dropLast().suffix(4)) }
  private let payload = [UInt8](repeating: 0x5A, count: 16)

  @Test func `without SYNC nothing is answered`() throws {
    var rig = try makeRig("no-sync")
    #expect(rig.send(loaderSync).isEmpty)
  }

  @Test func `one block is answered with a checksum error, or all from one on`() throws {
    var once = try makeRig("checksum@2")
    #expect(status(once.block(0x03, payload, sequence: 0)) == [0, 0, 0, 0])
    #expect(status(once.block(0x03, payload, sequence: 1)) == [1, 7, 0, 0])
    #expect(status(once.block(0x03, payload, sequence: 1)) == [0, 0, 0, 0])
    var lasting = try makeRig("checksum@1+")
    for _ in 0..<4 { #expect(status(lasting.block(0x03, payload, sequence: 0)) == [1, 7, 0, 0]) }
  }

  @Test func `a silent block is written`() throws {
    var rig = try makeRig("silent@1")
    #expect(rig.block(0x03, payload, sequence: 0).isEmpty)
    #expect(rig.loader.flash.read(at: 0, count: 1) == [0x5A])
  }

  @Test func `a digest is wrong`() throws {
    var rig = try makeRig("md5")
    #expect(rig.request(0x13, words: [0, 4, 0, 0])[9...10] != [0x61, 0x35])
    #expect(rig.request(0x13, words: [0, 4, 0, 0]).count == 46)
  }

  @Test func `a protected flash keeps its content, and shows its protection`() throws {
    var rig = try makeRig("write-protect")
    #expect(status(rig.block(0x03, payload, sequence: 0)) == [0, 0, 0, 0])
    #expect(rig.loader.flash.read(at: 0, count: 1) == [0xFF])
    #expect(rig.loader.flash.erasedSectors == 0)
    _ = rig.request(0x09, words: [0x6000_2020, 0x7000_0005, .max, 0])
    _ = rig.request(0x09, words: [0x6000_2000, 0x0004_0000, .max, 0])
    #expect(rig.request(0x0A, words: [0x6000_2058])[5] == 0x1C)
  }

  @Test(arguments: [UInt64(1), 2, 17, 256])
  func `the plug is pulled at any block, and the flash has the blocks before`(number: UInt64) throws {
    var rig = try makeRig("unplug@\(number)")
    for sequence in 0..<UInt32(number) { _ = rig.loader.receiveBlock(payload, sequence: sequence) }
    #expect(rig.loader.nextAction() == .unplug)
    #expect(rig.loader.mode == .dead)
    #expect(rig.loader.flash.programmedBytes == (number - 1) * 16)
    #expect(rig.send(loaderSync).isEmpty)
    rig.loader.reset()
    #expect(rig.loader.mode == .rom)
  }

  @Test func `a supply that fails during an erase leaves a part of the bits set`() throws {
    var rig = LoaderRig()
    _ = rig.request(0x02, words: [8192, 512, 16, 0, 0])
    for sequence in UInt32(0)..<512 {
      _ = rig.block(0x03, [UInt8](repeating: 0, count: 16), sequence: sequence)
    }
    rig.loader.setFaults(try LoaderFaults(parsing: "power-loss@2"))
    rig.loader.receive(
      slip([0, 2, 20, 0, 0, 0, 0, 0] + [8192, 1, 16, 0, 0].flatMap { littleEndian($0) }), now: rig.now)
    #expect(rig.loader.nextAction() == .restart(.powerOn))
    #expect(rig.loader.flash.read(at: 0, count: 4096) == [UInt8](repeating: 0xFF, count: 4096))
    let second = try #require(rig.loader.flash.read(at: 4096, count: 4096))
    #expect(second.contains { $0 != 0 } && second.contains { $0 != 0xFF })
  }

  @Test(arguments: [
    "no-sync", "md5,write-protect", "boot-mode", "silent@3", "checksum@3+", "unplug@1,power-loss@2", "off",
  ])
  func `a spec is described as it is written`(text: String) throws {
    #expect(try LoaderFaults(parsing: text).description == text)
  }

  @Test(arguments: [
    "", "md5,md5", "silent", "silent@0", "silent@x", "silent@1,silent@2", "md5@1", "unplug@-1",
  ])
  func `a malformed spec is refused`(text: String) {
    #expect(throws: Failure.self) { try LoaderFaults(parsing: text) }
  }
}

extension LoaderMachine {
  /// Takes a raw block, without its answer.
  fileprivate mutating func receiveBlock(_ payload: [UInt8], sequence: UInt32) -> Bool {
    let head = [UInt32(payload.count), sequence, 0, 0].flatMap { littleEndian($0) }
    let data = head + payload
    let checksum = payload.reduce(0xEF) { $0 ^ $1 }
    receive(slip([0, 3, UInt8(data.count), 0, checksum, 0, 0, 0] + data), now: .zero)
    return mode != .dead
  }
}
