extension UInt64 {
  /// A seed for a run that was given none: below 2⁵³, so that every reader of JSON can hand it back unchanged.
  static func randomSeed() -> UInt64 {
    random(in: 0..<(1 << 53))
  }
}
