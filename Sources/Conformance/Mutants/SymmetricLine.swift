package import NotibotProtocol

/// Makes a sound peer speak and understand another protocol: what it sends is changed on its way out, what it hears is
/// changed back on its way in. Text and pauses pass as they are.
package final class SymmetricLine: Line {
  private let line: any Line
  private var outgoing: CandidateFilter
  private var incoming: CandidateFilter

  /// - Parameter fault: what the peer on `line` does otherwise.
  package init(_ line: any Line, fault: SymmetricMutant) {
    self.line = line
    outgoing = CandidateFilter(fault.codec.onSend)
    incoming = CandidateFilter(fault.codec.onReceive)
  }

  package var now: Instant { line.now }

  package func takeLateness() -> Duration { line.takeLateness() }

  package func write(_ bytes: [UInt8]) async throws {
    // A case writes its frames whole; half a frame arrives as half a frame, and its other half as it is.
    try await line.write(incoming.pass(bytes) + incoming.release())
  }

  package func read(until deadline: Instant) async throws -> [UInt8] {
    let bytes = try await line.read(until: deadline)
    // A peer in this process hands its frames over whole; the rest is text without an end.
    return outgoing.pass(bytes) + outgoing.release()
  }
}

/// Changes what stands between two zeros, when its second zero is there.
package struct CandidateFilter {
  /// Bytes held; what is longer is no frame and passes as it is.
  static let candidateLimitBytes = 1024

  private let change: @Sendable ([UInt8]) -> [UInt8]
  private var candidate: [UInt8] = []
  /// Whether the present candidate has passed in part, and so passes as it is.
  private var isReleased = false

  /// - Parameter change: what becomes of a candidate; it may not return a zero.
  package init(_ change: @escaping @Sendable ([UInt8]) -> [UInt8]) {
    self.change = change
  }

  /// What may pass now.
  package mutating func pass(_ bytes: [UInt8]) -> [UInt8] {
    var passed: [UInt8] = []
    for byte in bytes {
      if byte == 0 {
        if !candidate.isEmpty { passed += change(candidate) }
        passed.append(0)
        candidate = []
        isReleased = false
      } else if isReleased {
        passed.append(byte)
      } else {
        candidate.append(byte)
        if candidate.count == Self.candidateLimitBytes { passed += release() }
      }
    }
    return passed
  }

  /// Lets go of what is held: it passes as it is, and so does what follows it up to the next zero.
  package mutating func release() -> [UInt8] {
    defer { candidate = [] }
    isReleased = isReleased || !candidate.isEmpty
    return candidate
  }
}
