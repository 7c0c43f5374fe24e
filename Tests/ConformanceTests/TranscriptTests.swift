import NotibotProtocol
import Testing

@testable import Conformance
import SuiteWire

/// The words of a failure: the wire in frames and text, the rule, the usual cause.
@Suite struct TranscriptTests {
  private func lines(_ pieces: [(bytes: [UInt8], isSent: Bool)], hasRecords: Bool = false) -> [String] {
    let record = Record()
    record.hasRecords = hasRecords
    for (index, piece) in pieces.enumerated() {
      record.add(piece.bytes, isSent: piece.isSent, at: Instant(nanoseconds: Int64(index) * 1_000_000))
    }
    return record.transcript
  }

  private let write = WireFrame(
    kind: .data, sender: .host, channel: 4, session: 7, seq: 2, ack: 3, credit: 16,
    payload: [0x12, 6, 0] + Array(#"{"a":1}"#.utf8))

  @Test func `a frame is decoded, also if it arrives in pieces or after text`() {
    let line = #"DATA 2 session 7 ack 3 +16: Write Data, 7 bytes, "{"a":1}""#
    #expect(lines([(write.bytes, true)]) == ["0.000000 > \(line)"])
    let pieces = write.bytes.map { (bytes: [$0], isSent: true) }
    #expect(lines(pieces) == ["0.0\(pieces.count - 1)000 > \(line)"])
    #expect(
      lines([(Array("I (5) x\r\nI (6) y\r\n".utf8) + write.bytes, false)])
        == ["0.000000 < console: I (5) x", "0.000000 < console: I (6) y", "0.000000 < \(line)"])
  }

  @Test func `two frames of one read are two steps, and directions do not mix`() {
    let ack = WireFrame(kind: .ack, sender: .device, session: 7, ack: 3, credit: 16)
    let half = write.bytes.count / 2
    #expect(
      lines([
        (Array(write.bytes.prefix(half)), true), (ack.bytes + ack.bytes, false),
        (Array(write.bytes.dropFirst(half)), true),
      ])
        == [
          "0.001000 < ACK session 7 ack 3 +16", "0.001000 < ACK session 7 ack 3 +16",
          #"0.002000 > DATA 2 session 7 ack 3 +16: Write Data, 7 bytes, "{"a":1}""#,
        ])
  }

  @Test(
    arguments: [
      ([0x01, 0x12, 6, 0, 0x80], "Error 0x80, not a valid notification (to Write)"),
      ([0x0A, 3, 0], "Read Count"),
      ([0x0B, 5, 0], "Value, 2 bytes, value 5"),
      ([0x12, 4, 0, 1, 0], "Write Count's CCCD, 2 bytes, value 1"),
      ([0x13], "Written"), ([0x16, 6, 0, 18, 0, 1, 2, 3], "Prepare Write Data at 18, 3 bytes, 010203"),
      ([0x02, 5, 2], "Exchange MTU 517"), ([0x99], "opcode 0x99"), ([], "empty PDU"), ([0x01], "Error"),
      ([0x12, 6], "Write 06"),
    ] as [([UInt8], String)])
  func `a PDU is named`(pdu: [UInt8], text: String) {
    #expect(PayloadText.attribute(pdu) == text)
  }

  @Test func `TLVs are named, and malformed ones shown`() {
    #expect(
      PayloadText.tlvs(
        [TLV.magic, .versions(1, 2), .limits(frames: 4, requests: 1, mtu: 23, bytes: 2160), TLV(0x7F, [1])]
          .payload)
        == "VERSIONS 1-2, LIMITS 4 frames, 1 requests, MTU 23, 2160 bytes, TLV 0x7F 01")
    #expect(PayloadText.tlvs([0x81]) == "malformed TLVs 81")
  }

  @Test func `any bytes are words, within limits`() {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<200 {
      let bytes = (0..<Int.random(in: 0...3000, using: &random)).map { _ in
        UInt8.random(in: 0...255, using: &random) & (Bool.random(using: &random) ? 0xFF : 0x1F)
      }
      let frame = WireFrame(
        kind: WireFrame.Kind(rawValue: .random(in: 1...11, using: &random)) ?? .data, sender: .device,
        channel: .random(in: 0...7, using: &random), payload: Array(bytes.prefix(528)))
      let words = lines([(bytes, false), (frame.bytes, true), (bytes, true)])
      #expect(!words.isEmpty && words.allSatisfy { $0.count < 4000 })
      #expect(!lines([(bytes, true), (bytes, false)], hasRecords: true).isEmpty || bytes.isEmpty)
    }
  }

  @Test func `old entries are dropped, long ones cut, and both are counted`() {
    let record = Record()
    for index in 0..<(Record.entriesLimit + 3) { record.add("step \(index)", at: .zero) }
    #expect(
      record.transcript.first == "(3 earlier steps not shown)"
        && record.transcript.count == Record.entriesLimit + 1)
    #expect(record.transcript.last == "0.000000 ! step \(Record.entriesLimit + 2)")
    let long = lines([(Array(repeating: 1, count: Record.entryLimitBytes + 9), true)])
    #expect(long.contains("0.000000 > (9 further bytes not shown)"))
  }

  @Test func `records of a connection are PDUs`() {
    #expect(
      lines([([3, 0, 0x0A, 3], true), ([0, 1, 0, 0x13, 9], true)], hasRecords: true)
        == ["0.001000 > Read Count", "0.001000 > Written", "0.001000 > unfinished, 1 byte: 09"])
  }

  @Test func `every rule of the suite has its words`() throws {
    for rule in Set(Suite.cases.flatMap(\.rules)) {
      let words = try #require(RuleWords.words(of: rule), "\(rule)")
      #expect(words.count > 20 && !words.contains("**"), "\(rule)")
    }
    #expect(RuleWords.words(of: "LNK-1")?.hasPrefix("Header layout, type numbers and the TLVs") == true)
    #expect(RuleWords.words(of: "") == nil)
  }
}
