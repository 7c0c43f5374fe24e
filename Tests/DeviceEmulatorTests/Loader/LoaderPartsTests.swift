import Testing

@testable import DeviceEmulator

/// The parts of the loader: frames and flash.
@Suite struct LoaderPartsTests {
  @Test func `frames are found however they are cut, and empty ones are none`() {
    let wire: [UInt8] = [0x11, 0xC0, 0xC0, 0x01, 0xDB, 0xDC, 0xDB, 0xDD, 0xC0, 0xC0, 0x02, 0xC0, 0x03]
    for pieceBytes in [1, 2, 3, 64] {
      var decoder = SLIPDecoder(frameLimitBytes: 8)
      var frames: [[UInt8]] = []
      for start in stride(from: 0, to: wire.count, by: pieceBytes) {
        var piece = wire[start..<min(wire.count, start + pieceBytes)]
        while let frame = decoder.nextFrame(from: &piece) { frames.append(frame) }
      }
      #expect(frames == [[0x01, 0xC0, 0xDB], [0x02]])
    }
  }

  @Test func `a frame that is too long, or has an invalid escape, is dropped up to its end`() {
    var decoder = SLIPDecoder(frameLimitBytes: 3)
    var wire: ArraySlice<UInt8> = [0xC0, 1, 2, 3, 4, 0xC0, 0xC0, 5, 0xDB, 6, 7, 0xC0, 0xC0, 1, 2, 3, 0xC0]
    #expect(decoder.nextFrame(from: &wire) == [1, 2, 3])
    #expect(decoder.droppedFrames == 2)
  }

  @Test func `SYNC is found in the bytes for an application`() {
    var watch = SyncWatch()
    #expect(watch.receive([0x00, 0xC0, 0xC0, 0x41] + loaderSync.dropLast()) == nil)
    #expect(watch.receive([0xC0, 0x42]) == loaderSync + [0x42])
    #expect(watch.receive([UInt8](repeating: 0xC0, count: 1000)) == nil)
  }

  @Test func `programming clears bits, and only an erase sets them`() throws {
    var flash = try #require(NORFlash(sizeBytes: 0x10_0000, content: [0xF0]))
    flash.program([0x3C, 0x0F], at: 0)
    #expect(flash.read(at: 0, count: 3) == [0x30, 0x0F, 0xFF])
    flash.eraseSector(containing: 5)
    #expect(flash.read(at: 0, count: 2) == [0xFF, 0xFF])
    #expect(flash.drainChanges() == [0..<4096])
    flash.program([0], at: 0x10_0000)
    flash.program([0, 0], at: 0xF_FFFF)
    flash.eraseSector(containing: 0x10_0000)
    #expect(flash.drainChanges().isEmpty)
    #expect(flash.read(at: 0xF_FFFF, count: 2) == nil)
    #expect(flash.read(at: -1, count: 1) == nil)
  }

  @Test func `changes are reported by sectors, next to each other in one range`() throws {
    var flash = try #require(NORFlash(sizeBytes: 0x10_0000))
    flash.program([0, 0], at: 4095)
    flash.program([0], at: 9000)
    flash.program([0], at: 0x8000)
    #expect(flash.drainChanges() == [0..<12288, 0x8000..<0x9000])
  }

  @Test(arguments: [0, 0x10_0001, 0x20_0000_0000]) func `a flash has a size of a chip`(size: Int) {
    #expect(NORFlash(sizeBytes: size) == nil)
  }
}
