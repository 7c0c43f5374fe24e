import NotibotProtocol
import Testing

@testable import Conformance
import SuiteWire

/// How findings are worded, and that a repeated one is noted once.
@Suite struct FindingTests {
  @Test func `values are shown in the words of the protocol`() {
    let rows: [(text: String, expected: String)] = [
      (
        FindingText.difference("the answer to Read", [0x0B, 0x0A, 0] as [UInt8], [0x0B, 0xFF, 0xFF]),
        "the answer to Read is Value, 2 bytes, value 10 [0b0a00], expected Value, 2 bytes, value 65535 [0bffff]"
      ),
      (FindingText.difference("the nonce", [1] as [UInt8], [2]), "the nonce is [01], expected [02]"),
      (
        FindingText.difference("an answer", nil as [UInt8]?, [0x13]),
        "an answer is missing, expected Written [13]"
      ),
      (
        FindingText.difference(
          "notifications", [.count(0), .event("{}"), .message([3]), .other([0x13])] as [Unsolicited.Item], []),
        "notifications is [Count 0, {}, RESYNC, Written], expected none"
      ),
      (
        FindingText.difference("answers", [WireFrame(kind: .ping, sender: .device, ack: 1, credit: 2)], []),
        "answers is PING ack 1 +2, expected none"
      ),
    ]
    for row in rows { #expect(row.text == row.expected) }
  }

  @Test func `a finding that is noted again is reported once, with how often`() {
    let record = Record()
    for message in ["a", "b", "a", "a"] { record.add(Finding(message, file: "F.swift", line: 1)) }
    #expect(record.findings.map(\.message) == ["a (3 times)", "b"])
  }

  @Test func `of too many different findings the first are reported`() {
    let record = Record()
    for index in 0..<100 { record.add(Finding("\(index)", file: "F.swift", line: 1)) }
    #expect(record.findings.count == Record.findingsLimit)
  }
}
