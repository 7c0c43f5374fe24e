/// Detects once that the bytes of a line are mostly not text and never a frame, as at a wrong rate.
package struct RateDoubt: Equatable, Sendable {
  /// Size of the sample, in bytes.
  static let sampleBytes = 256
  /// Percentage of the sample's characters that must not be text.
  static let strangePercent = 30

  private enum State: Equatable {
    case sampling([UInt8])
    case done
  }

  private var state = State.sampling([])

  package init() {}

  /// Takes bytes as received. A whole frame proves that the rate is right.
  ///
  /// - Parameter frames: the number of whole frames so far.
  /// - Returns: true once, when the rate is probably wrong.
  package mutating func receive(_ bytes: [UInt8], frames: UInt64) -> Bool {
    switch state {
    case .done: return false
    case .sampling where frames > 0:
      state = .done
      return false
    case .sampling(let before):
      let sample = before + bytes.prefix(Self.sampleBytes - before.count)
      guard sample.count == Self.sampleBytes else {
        state = .sampling(sample)
        return false
      }
      state = .done
      let characters = String(decoding: sample, as: UTF8.self).unicodeScalars
      return characters.count(where: Self.isStrange) * 100 >= characters.count * Self.strangePercent
    }
  }

  /// Neither text, nor white space, nor the first character of an escape sequence, nor the zero of
  /// a frame.
  private static func isStrange(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0, 0x08...0x0D, 0x1B: false
    case 0..<0x20, 0x7F...0x9F, 0xFFFD: true
    case _: false
    }
  }
}
