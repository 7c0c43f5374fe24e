import Digests
import NotibotProtocol
import Testing

@testable import DeviceEmulator

/// Writing, reading and erasing.
@Suite struct LoaderFlashTests {
  static let romOK: [UInt8] = [0, 0, 0, 0]

  /// The status bytes at the end of an answer of the ROM.
  private func romStatus(_ answer: [UInt8]) -> [UInt8] { Array(answer.dropLast().suffix(4)) }
  private func stubStatus(_ answer: [UInt8]) -> [UInt8] { Array(answer.dropLast().suffix(2)) }

  @Test func `the ROM erases at the beginning, and programs raw blocks`() {
    var rig = LoaderRig()
    _ = rig.request(0x02, words: [4096, 4, 1024, 0x1000, 0])
    #expect(rig.loader.flash.erasedSectors == 1)
    for sequence in UInt32(0)..<4 {
      let payload = [UInt8](repeating: UInt8(sequence) + 1, count: 1024)
      #expect(romStatus(rig.block(0x03, payload, sequence: sequence)) == Self.romOK)
    }
    #expect(rig.loader.flash.read(at: 0x13FF, count: 2) == [1, 2])
    #expect(rig.loader.flash.read(at: 0x1FFF, count: 2) == [4, 0xFF])
  }

  @Test func `a block that comes again is answered, and not written again`() {
    var rig = LoaderRig()
    _ = rig.request(0x02, words: [4096, 2, 1024, 0, 0])
    _ = rig.block(0x03, [UInt8](repeating: 0xF0, count: 1024), sequence: 0)
    #expect(romStatus(rig.block(0x03, [UInt8](repeating: 0xF0, count: 1024), sequence: 0)) == Self.romOK)
    _ = rig.block(0x03, [UInt8](repeating: 0x0F, count: 1024), sequence: 1)
    #expect(rig.loader.flash.read(at: 0x3FF, count: 2) == [0xF0, 0x0F])
  }

  @Test func `a block out of order, too long, or without a beginning is refused`() {
    var rig = LoaderRig()
    #expect(romStatus(rig.block(0x03, [1], sequence: 0)) == [1, 1, 0, 0])
    _ = rig.request(0x02, words: [4096, 2, 16, 0, 0])
    #expect(romStatus(rig.block(0x03, [1], sequence: 1)) == [1, 1, 0, 0])
    #expect(romStatus(rig.block(0x03, [UInt8](repeating: 1, count: 17), sequence: 0)) == [1, 1, 0, 0])
    #expect(romStatus(rig.block(0x03, [1], sequence: 0)) == Self.romOK)
    #expect(rig.loader.flash.read(at: 0, count: 2) == [1, 0xFF])
  }

  @Test func `a wrong checksum is refused, and the block can be sent again`() {
    var rig = LoaderRig()
    _ = rig.request(0x02, words: [4096, 1, 16, 0, 0])
    let head = [UInt32(1), 0, 0, 0].flatMap { littleEndian($0) }
    #expect(romStatus(rig.request(0x03, head + [1], checksum: 0)) == [1, 7, 0, 0])
    #expect(romStatus(rig.block(0x03, [1], sequence: 0)) == Self.romOK)
  }

  @Test func `a write that does not fit in the flash is refused`() {
    var rig = LoaderRig()
    #expect(romStatus(rig.request(0x02, words: [4096, 1, 1024, 0x10_0000, 0])) == [1, 8, 0, 0])
    #expect(romStatus(rig.request(0x02, words: [.max, 1, 1024, .max, 0])) == [1, 8, 0, 0])
    #expect(romStatus(rig.request(0x02, words: [16, 1, 0x10_0000, 0, 0])) == [1, 1, 0, 0])
  }

  @Test func `the stub erases as it writes, and reports a bad stream with the next request`() throws {
    var rig = LoaderRig()
    rig.startStub()
    // "abcabcabcabc", by Python's zlib.
    let stream: [UInt8] = [0x78, 0x01, 0x4B, 0x4C, 0x4A, 0x4E, 0x84, 0x21, 0x00, 0x1D, 0xE0, 0x04, 0x99]
    #expect(stubStatus(rig.request(0x10, words: [12, 1, 0x4000, 0x2000, 0])) == [0, 0])
    #expect(rig.loader.flash.erasedSectors == 0)
    #expect(stubStatus(rig.block(0x11, stream, sequence: 0)) == [0, 0])
    #expect(rig.loader.flash.erasedSectors == 1)
    #expect(stubStatus(rig.request(0x12, words: [1])) == [0, 0])
    #expect(rig.loader.flash.read(at: 0x2000, count: 13) == Array("abcabcabcabc".utf8) + [0xFF])

    _ = rig.request(0x10, words: [12, 1, 0x4000, 0x3000, 0])
    #expect(stubStatus(rig.block(0x11, [0x78, 0x01, 0x07], sequence: 0)) == [0, 0])
    #expect(stubStatus(rig.request(0x12, words: [1])) == [0xC7, 0])

    _ = rig.request(0x10, words: [12, 1, 0x4000, 0x3000, 0])
    _ = rig.block(0x11, Array(stream.dropLast(6)), sequence: 0)
    #expect(stubStatus(rig.request(0x12, words: [1])) == [0xC8, 0])

    _ = rig.request(0x10, words: [11, 1, 0x4000, 0x3000, 0])
    _ = rig.block(0x11, stream, sequence: 0)
    #expect(stubStatus(rig.request(0x13, words: [0, 0, 0, 0])) == [0xC9, 0])
  }

  @Test func `the stub accepts the end of a compressed write for an empty raw one`() {
    var rig = LoaderRig()
    rig.startStub()
    #expect(stubStatus(rig.request(0x12, words: [1])) == [0xC6, 0])
    #expect(stubStatus(rig.request(0x02, words: [0, 0, 0x4000, 0, 0])) == [0, 0])
    #expect(stubStatus(rig.request(0x12, words: [1])) == [0, 0])
  }

  @Test func `the ROM reports a bad stream at once`() {
    var rig = LoaderRig()
    _ = rig.request(0x10, words: [1024, 1, 1024, 0, 0])
    #expect(romStatus(rig.block(0x11, [0x78, 0x01, 0x07], sequence: 0)) == [1, 0x0B, 0, 0])
  }

  @Test func `MD5 is text from the ROM, and bytes from the stub`() {
    var rig = LoaderRig()
    let digest: [UInt8] = [
      // Of four bytes FF, by Python's hashlib.
      0xA5, 0x4F, 0x00, 0x41, 0xA9, 0xE1, 0x5B, 0x05, 0x0F, 0x25, 0xC4, 0x63, 0xF1, 0xDB, 0x74, 0x49,
    ]
    let rom = rig.request(0x13, words: [0x1000, 4, 0, 0])
    #expect(
      rom == [0xC0, 1, 0x13, 0x24, 0, 0, 0, 0, 0] + Array("a54f0041a9e15b050f25c463f1db7449".utf8) + [
        0, 0, 0, 0, 0xC0,
      ])
    rig.startStub()
    #expect(
      rig.request(0x13, words: [0x1000, 4, 0, 0]) == slip([1, 0x13, 0x12, 0, 0, 0, 0, 0] + digest + [0, 0]))
    #expect(stubStatus(rig.request(0x13, words: [0x10_0000, 1, 0, 0])) == [0xC4, 0])
  }

  @Test func `the ROM reads 64 bytes at a time`() {
    var rig = LoaderRig()
    let answer = rig.request(0x0E, words: [0, 16])
    #expect(
      answer == [0xC0, 1, 0x0E, 0x44, 0, 0, 0, 0, 0] + [UInt8](repeating: 0xFF, count: 16)
        + [UInt8](repeating: 0, count: 48 + 4) + [0xC0])
    #expect(romStatus(rig.request(0x0E, words: [0, 65])) == [1, 0x0A, 0, 0])
  }

  @Test func `the stub sends a packet for each acknowledgement, then the digest`() {
    var rig = LoaderRig()
    rig.startStub()
    let ok: [UInt8] = [0xC0, 1, 0xD2, 2, 0, 0, 0, 0, 0, 0, 0, 0xC0]
    #expect(rig.request(0xD2, words: [0, 4, 3, 64]) == ok + slip([0xFF, 0xFF, 0xFF]))
    // One that is not for what was sent changes nothing.
    #expect(rig.send(slip([2, 0, 0, 0])).isEmpty)
    #expect(rig.send(slip([3, 0, 0, 0])) == slip([0xFF]))
    let digest = rig.send(slip([4, 0, 0, 0]))
    #expect(digest == slip(MD5.digest(of: [0xFF, 0xFF, 0xFF, 0xFF])))
    #expect(rig.request(0x0A, words: [0]).count == 12)
  }

  @Test func `the stub erases a region at sector boundaries, or everything`() {
    var rig = LoaderRig()
    rig.startStub()
    #expect(stubStatus(rig.request(0xD1, words: [0x1000, 0x2000])) == [0, 0])
    #expect(rig.loader.flash.erasedSectors == 2)
    #expect(stubStatus(rig.request(0xD1, words: [0x1001, 0x1000])) == [0xC3, 0])
    #expect(stubStatus(rig.request(0xD0, [])) == [0, 0])
    #expect(rig.loader.flash.erasedSectors == 2 + 256)
  }
}
