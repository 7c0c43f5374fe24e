package import Conformance
package import NotibotProtocol

/// Makes a correct peer use another protocol: its output is changed on its way out, its input is
/// changed back on its way in. Text and pauses are not changed.
package final class SymmetricLine: Line {
  private let line: any Line
  private var outgoing: CandidateFilter
  private var incoming: CandidateFilter

  /// - Parameter fault: the fault of the peer on `line`.
  package init(_ line: any Line, fault: SymmetricMutant) {
    self.line = line
    outgoing = CandidateFilter(fault.codec.onSend)
    incoming = CandidateFilter(fault.codec.onReceive)
  }

  package var now: Instant { line.now }

  package func drainLateness() -> Duration { line.drainLateness() }

  package func write(_ bytes: [UInt8]) async throws {
    // A case writes complete frames; half a frame is sent as half a frame, and its other half
    // unchanged.
    try await line.write(incoming.pass(bytes) + incoming.release())
  }

  package func read(until deadline: Instant) async throws -> [UInt8] {
    let bytes = try await line.read(until: deadline)
    // A peer in this process sends complete frames; the rest is text without an end.
    return outgoing.pass(bytes) + outgoing.release()
  }
}

/// Changes the bytes between two zeros when the second zero is there.
package struct CandidateFilter {
  /// The maximum number of held bytes; a longer candidate is not a frame and is not changed.
  static let candidateLimitBytes = 1024

  private let change: @Sendable ([UInt8]) -> [UInt8]
  private var candidate: [UInt8] = []
  /// Whether a part of the current candidate has been passed on, so that the rest is not changed
  /// either.
  private var isReleased = false

  /// - Parameter change: the change of a candidate; it must not return a zero.
  package init(_ change: @escaping @Sendable ([UInt8]) -> [UInt8]) {
    self.change = change
  }

  /// The bytes that can be passed on now.
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

  /// Releases the held bytes: they are not changed, and neither are the following ones up to the
  /// next zero.
  package mutating func release() -> [UInt8] {
    defer { candidate = [] }
    isReleased = isReleased || !candidate.isEmpty
    return candidate
  }
}
