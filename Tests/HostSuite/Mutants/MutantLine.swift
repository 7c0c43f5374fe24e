package import Conformance
package import NotibotProtocol
package import SuiteWire

/// Makes a peer look broken: changes the bytes between a case and the peer, in one or both
/// directions.
package final class MutantLine: Line {
  package typealias Change = ([UInt8]) -> [UInt8]

  private let line: any Line
  private let sent: Change
  private let received: Change

  /// - Parameters:
  ///   - sent: the change of bytes on their way to the peer.
  ///   - received: the change of bytes on their way from it.
  package init(_ line: any Line, sent: @escaping Change, received: @escaping Change) {
    self.line = line
    self.sent = sent
    self.received = received
  }

  package var now: Instant { line.now }

  package func drainLateness() -> Duration { line.drainLateness() }

  package func write(_ bytes: [UInt8]) async throws { try await line.write(sent(bytes)) }

  package func read(until deadline: Instant) async throws -> [UInt8] {
    while true {
      let bytes = try await line.read(until: deadline)
      let changed = received(bytes)
      // An empty read means the deadline: if all bytes were dropped, it must not look like that.
      if !changed.isEmpty || bytes.isEmpty { return changed }
    }
  }
}

/// A change of whole frames; text is not changed.
package final class FrameFilter {
  private var candidate: [UInt8] = []
  private let change: (WireFrame) -> [[UInt8]]

  private init(_ change: @escaping (WireFrame) -> [[UInt8]]) {
    self.change = change
  }

  /// Each frame becomes any number of frames.
  package static func frames(_ change: @escaping (WireFrame) -> [WireFrame]) -> MutantLine.Change {
    bytes { change($0).map(\.bytes) }
  }

  /// Each frame becomes any bytes.
  package static func bytes(_ change: @escaping (WireFrame) -> [[UInt8]]) -> MutantLine.Change {
    let filter = FrameFilter(change)
    return { filter.pass($0) }
  }

  private func pass(_ bytes: [UInt8]) -> [UInt8] {
    var passed: [UInt8] = []
    for byte in bytes {
      guard byte == 0 else {
        candidate.append(byte)
        continue
      }
      if let frame = WireFrame(candidate: candidate) {
        passed += change(frame).flatMap { $0 }
      } else if !candidate.isEmpty {
        passed += [0] + candidate + [0]
      }
      candidate = []
    }
    return passed
  }
}
