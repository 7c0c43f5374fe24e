/// An item that the splitter found, in the order of the wire.
package enum WireItem: Equatable, Sendable {
  case frame(WireFrame)
  /// The bytes between two zeros that are not a valid frame of the peer.
  case text([UInt8])

  /// Whether it is text that no console prints: a corrupt frame, or a wrong rate.
  package var isBinary: Bool {
    guard case .text(let bytes) = self else { return false }
    return String(validating: bytes, as: UTF8.self) == nil
      || bytes.contains { $0 < 0x20 && ![0x09, 0x0A, 0x0D, 0x1B].contains($0) }
  }
}

/// Splits received bytes at the zeros. Much simpler than a receiver for users: text appears when
/// its zero arrives, and an unfinished candidate can be inspected.
package struct FrameSplitter: Sendable {
  /// The maximum number of unfinished bytes before they are given up as text.
  package static let candidateLimitBytes = 4096

  private(set) package var candidate: [UInt8] = []
  private let sender: WireFrame.Sender
  private var items: [WireItem] = []

  /// - Parameter sender: the side whose frames are accepted; those of the other side count as text.
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
  package mutating func drainItems() -> [WireItem] {
    defer { items = [] }
    return items
  }

  /// Treats the unfinished candidate as text.
  package mutating func flush() {
    guard !candidate.isEmpty else { return }
    items.append(.text(candidate))
    candidate = []
  }
}
