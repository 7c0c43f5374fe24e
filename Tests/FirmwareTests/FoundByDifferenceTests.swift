import Testing

/// Regressions found by the differential tests, on both servers. PROTOCOL.md decided which side was
/// wrong.
@Suite struct FoundByDifferenceTests {
  @Test func `an Execute Write longer than MTU empties the queue`() {
    // The emulator kept it. ATT-14: the queue is empty after any answer.
    var pair = ServerPair(round: 2)  // MTU 23
    let prepare = [UInt8](hex: "1606000000aa")
    let tooLong = [0x18] + [UInt8](repeating: 1, count: 23)
    #expect(pair.ask(prepare, expecting: "1706000000aa") == nil)
    #expect(pair.ask(tooLong, expecting: "0118000004") == nil)
    #expect(pair.ask([0x18, 0x01], expecting: "19") == nil)
  }

  @Test func `an Execute Write with another flag empties the queue`() {
    // The firmware kept it.
    var pair = ServerPair(round: 0)
    #expect(pair.ask([UInt8](hex: "1606000000aa"), expecting: "1706000000aa") == nil)
    #expect(pair.ask([0x18, 0x02], expecting: "0118000004") == nil)
    #expect(pair.ask([0x18, 0x01], expecting: "19") == nil)
  }

  @Test func `an indication to a server gets no answer`() {
    // The firmware answered 0x06; the page did not specify it.
    var pair = ServerPair(round: 0)
    #expect(pair.ask([UInt8](hex: "1d03000100"), expecting: nil) == nil)
  }
}

extension ServerPair {
  /// Sends a request to both, and returns how one of them differs from `answer`, in hexadecimal;
  /// nil: none.
  fileprivate mutating func ask(_ pdu: [UInt8], expecting answer: String?) -> String? {
    let difference = ask(pdu)
    guard difference == nil, lastAnswer != answer.map([UInt8].init(hex:)) else { return difference }
    return "both answer \(lastAnswer ?? [])"
  }
}
