extension UInt64 {
  /// A random seed below 2⁵³, which every JSON parser preserves.
  static func randomSeed() -> UInt64 {
    random(in: 0..<(1 << 53))
  }
}
