import NotibotProtocol
import Testing

@testable import DeviceEmulator

@Suite struct RecordDecoderTests {
  /// Every PDU from bytes that arrive in pieces.
  private func pdus(in stream: [UInt8], pieceBytes: Int) -> (found: [String], decoder: RecordDecoder) {
    var decoder = RecordDecoder()
    var found: [String] = []
    for start in stride(from: 0, to: stream.count, by: pieceBytes) {
      decoder.receive(Array(stream[start..<min(start + pieceBytes, stream.count)]))
      while let pdu = decoder.nextPDU() { found.append(hex(pdu).lowercased()) }
    }
    return (found, decoder)
  }

  @Test(arguments: [1, 2, 3, 4, 5, 7, 64])
  func `records are complete, however they are split and joined`(pieceBytes: Int) {
    let stream = bytes("0300 0a0300 0100 18 0700 12060000007b7d 0300 0a0100")
    let (found, decoder) = pdus(in: stream, pieceBytes: pieceBytes)
    #expect(found == ["0a0300", "18", "12060000007b7d", "0a0100"])
    #expect(decoder.bufferedBytes == 0)
    #expect(!decoder.isBroken)
  }

  @Test(arguments: ["00", "0300", "0300 0a", "0300 0a03"])
  func `an incomplete record is kept, and yields no PDU`(stream: String) {
    let (found, decoder) = pdus(in: bytes(stream), pieceBytes: 64)
    #expect(found.isEmpty)
    #expect(decoder.bufferedBytes == bytes(stream).count)
  }

  @Test func `a record of 528 bytes is the longest one`() {
    let longest = [UInt8](repeating: 0x52, count: 528)
    let (found, decoder) = pdus(in: bytes("1002") + longest, pieceBytes: 100)
    #expect(found == [hex(longest).lowercased()])
    #expect(!decoder.isBroken)
  }

  @Test(arguments: ["0000", "1102", "ffff"])
  func `an impossible length ends everything after it and nothing before`(length: String) {
    for pieceBytes in [1, 2, 64] {
      let stream = bytes("0300 0a0300 \(length) 0300 0a0100")
      let (found, decoder) = pdus(in: stream, pieceBytes: pieceBytes)
      #expect(found == ["0a0300"])
      #expect(decoder.isBroken)
      #expect(decoder.bufferedBytes == 0)
    }
  }

  @Test func `a broken stream takes nothing more`() {
    var decoder = RecordDecoder()
    decoder.receive(bytes("0000"))
    decoder.receive([UInt8](repeating: 1, count: 100_000))
    #expect(decoder.bufferedBytes == 0)
    #expect(decoder.nextPDU() == nil)
  }

  @Test func `a PDU becomes one record`() {
    #expect(hex(ATTRecord.bytes(of: [0x0B, 0x07, 0x00])).lowercased() == "03000b0700")
  }
}
