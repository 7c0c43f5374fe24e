/// What the splitter found, in the order of the wire.
package enum WireItem: Equatable, Sendable {
  case frame(WireFrame)
  /// The bytes between two zeros that are no valid frame of the peer.
  case text([UInt8])
}

/// Cuts received bytes at the zeros. Much simpler than a receiver that a user would want: text shows when its zero
/// comes, and an unfinished candidate can be looked at.
package struct FrameSplitter: Sendable {
  /// The most bytes that stand unfinished before they are given up as text.
  package static let candidateLimitBytes = 4096

  private(set) package var candidate: [UInt8] = []
  private let sender: WireFrame.Sender
  private var items: [WireItem] = []

  /// - Parameter sender: whose frames are frames; those of the other side count as text.
  package init(from sender: WireFrame.Sender) {
    self.sender = sender
  }

  /// Takes received bytes.
  package mutating func receive(_ bytes: [UInt8]) {
    for byte in bytes {
      if byte != 0 {
        candidate.append(byte)
        if candidate.count == Self.candidateLimitBytes { flush() }
      } else if !candidate.isEmpty {
        if let frame = WireFrame(candidate: candidate), frame.sender == sender {
          items.append(.frame(frame))
          candidate = []
        } else {
          flush()
        }
      }
    }
  }

  /// Everything found since the last call.
  package mutating func takeItems() -> [WireItem] {
    defer { items = [] }
    return items
  }

  /// Declares the unfinished candidate to be text.
  package mutating func flush() {
    guard !candidate.isEmpty else { return }
    items.append(.text(candidate))
    candidate = []
  }
}
