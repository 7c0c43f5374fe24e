import SerialLink

/// Notices that the bytes of a line are mostly not text and never a frame, as at a wrong rate, and
/// looks for the rate at which they are.
///
/// States: *listening* at the first rate → *trying*, one common rate after the other → *done*; the
/// first text or whole frame leads to *done* at once. Input: `receive`; it needs no time: a rate is
/// tried until the device has sent enough.
package struct RateSearch: Equatable, Sendable {
  /// What its owner does next.
  package enum Step: Equatable, Sendable {
    /// Most of it is not text, and no other rate may be tried.
    case doubt
    /// It is text in another encoding than UTF-8.
    case otherEncoding
    /// Set this rate.
    case attempt(UInt32)
    /// The rate that is set is right.
    case found(UInt32)
    /// No rate is right: set this one, the first, again.
    case giveUp(UInt32)
  }

  /// Size of the sample at the first rate, in bytes.
  static let sampleBytes = 256
  /// Size of the sample at another rate; as many bytes before it are not looked at, because they
  /// can have been received at the rate before.
  static let attemptBytes = 64
  /// Percentage of the first sample's characters that must not be text.
  static let strangePercent = 30
  /// Percentage of an attempt's characters that may not be text.
  static let allowedPercent = 10
  /// ROM and ESP-IDF, Notibot, the ROM with a 26 MHz crystal, then common ones.
  package static let candidates: [UInt32] = [
    115_200, 921_600, 74_880, 460_800, 230_400, 57_600, 38_400, 9600, 1_500_000, 2_000_000,
  ]

  private enum State: Equatable {
    case listening
    case trying(rest: ArraySlice<UInt32>)
    case done
  }

  private let first: UInt32
  private let maySearch: Bool
  private var rate: UInt32
  private var state = State.listening
  private var sample: [UInt8] = []

  /// - Parameters:
  ///   - rate: the rate that is set, in bits per second.
  ///   - maySearch: whether others may be tried; not if the user has asked for this one.
  package init(rate: UInt32, maySearch: Bool) {
    (first, self.rate, self.maySearch) = (rate, rate, maySearch)
  }

  /// Takes bytes as received.
  ///
  /// - Parameter isUnderstood: whether a whole frame was among them: it proves that the rate is
  ///   right.
  package mutating func receive(_ bytes: [UInt8], isUnderstood: Bool) -> Step? {
    switch state {
    case .done: return nil
    case .listening:
      if isUnderstood { return finish(nil) }
      guard let share = strangeShare(with: bytes, skipping: 0, of: Self.sampleBytes) else { return nil }
      guard share >= Self.strangePercent else { return finish(nil) }
      if hasTextLines { return finish(.otherEncoding) }
      guard maySearch else { return finish(.doubt) }
      return attempt(Self.candidates.filter { $0 != first }[...])
    case .trying(let rest):
      if isUnderstood { return finish(.found(rate)) }
      guard
        let share = strangeShare(with: bytes, skipping: Self.attemptBytes, of: Self.attemptBytes)
      else { return nil }
      return share <= Self.allowedPercent ? finish(.found(rate)) : attempt(rest)
    }
  }

  private mutating func finish(_ step: Step?) -> Step? {
    state = .done
    sample = []
    return step
  }

  private mutating func attempt(_ rates: ArraySlice<UInt32>) -> Step? {
    sample = []
    guard let next = rates.first else { return finish(.giveUp(first)) }
    rate = next
    state = .trying(rest: rates.dropFirst())
    return .attempt(next)
  }

  /// The percentage of characters that are not text, when there are enough bytes.
  private mutating func strangeShare(with bytes: [UInt8], skipping skipped: Int, of size: Int) -> Int? {
    sample += bytes.prefix(skipped + size - sample.count)
    guard sample.count == skipped + size else { return nil }
    let characters = String(decoding: sample[skipped...], as: UTF8.self).unicodeScalars
    return characters.count(where: isStrange) * 100 / characters.count
  }

  /// Whether the sample has lines, and no control character but those of text: what a wrong rate
  /// makes of text has both kinds.
  private var hasTextLines: Bool {
    sample.contains(UInt8(ascii: "\n"))
      && sample.allSatisfy { $0 >= 0x20 && $0 != 0x7F || 0x08...0x0D ~= $0 || $0 == 0x1B }
  }

  /// At the first rate the zero of a frame is not strange; text has none.
  private func isStrange(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value == 0 ? state != .listening : scalar.isStrangeInText
  }
}
