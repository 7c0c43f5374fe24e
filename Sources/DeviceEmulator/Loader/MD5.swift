/// The digest of RFC 1321, which the loader protocol uses to compare flash contents. Not for
/// security.
enum MD5 {
  /// The digest of a range of bytes; the range must lie in them.
  static func digest(of bytes: [UInt8], in range: Range<Int>) -> [UInt8] {
    var state = initial
    var start = range.lowerBound
    while start + 64 <= range.upperBound {
      update(&state, bytes, at: start)
      start += 64
    }
    var tail = Array(bytes[start..<range.upperBound]) + [0x80]
    while tail.count % 64 != 56 { tail.append(0) }
    let lengthBits = UInt64(range.count) * 8
    for index in 0..<8 { tail.append(UInt8(truncatingIfNeeded: lengthBits >> (8 * UInt64(index)))) }
    for block in stride(from: 0, to: tail.count, by: 64) { update(&state, tail, at: block) }
    return [state.a, state.b, state.c, state.d].flatMap { [UInt8].littleEndian($0) }
  }

  static func digest(of bytes: [UInt8]) -> [UInt8] { digest(of: bytes, in: 0..<bytes.count) }

  private struct State {
    var a: UInt32
    var b: UInt32
    var c: UInt32
    var d: UInt32
  }

  private static let initial = State(a: 0x6745_2301, b: 0xEFCD_AB89, c: 0x98BA_DCFE, d: 0x1032_5476)

  private static let shifts: [UInt32] = [
    7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21,
  ]

  // Wrap-around is the rule of this algorithm.
  private static func update(_ state: inout State, _ bytes: [UInt8], at start: Int) {
    var words = [UInt32](repeating: 0, count: 16)
    for index in 0..<16 {
      let at = start + 4 * index
      words[index] =
        UInt32(bytes[at]) | UInt32(bytes[at + 1]) << 8 | UInt32(bytes[at + 2]) << 16 | UInt32(bytes[at + 3])
        << 24
    }
    var (a, b, c, d) = (state.a, state.b, state.c, state.d)
    let constants = Self.constants
    let shifts = Self.shifts
    for step in 0..<64 {
      let mixed: UInt32
      let word: Int
      switch step >> 4 {
      case 0: (mixed, word) = ((b & c) | (~b & d), step)
      case 1: (mixed, word) = ((d & b) | (~d & c), (5 * step + 1) & 15)
      case 2: (mixed, word) = (b ^ c ^ d, (3 * step + 5) & 15)
      case _: (mixed, word) = (c ^ (b | ~d), (7 * step) & 15)
      }
      let sum = a &+ mixed &+ constants[step] &+ words[word]
      let shift = shifts[(step >> 4) << 2 | (step & 3)]
      (a, d, c) = (d, c, b)
      b = b &+ (sum << shift | sum >> (32 - shift))
    }
    state.a = state.a &+ a
    state.b = state.b &+ b
    state.c = state.c &+ c
    state.d = state.d &+ d
  }

  /// floor(2^32 × |sin(i + 1)|).
  private static let constants: [UInt32] = [
    0xD76A_A478, 0xE8C7_B756, 0x2420_70DB, 0xC1BD_CEEE, 0xF57C_0FAF, 0x4787_C62A, 0xA830_4613, 0xFD46_9501,
    0x6980_98D8, 0x8B44_F7AF, 0xFFFF_5BB1, 0x895C_D7BE, 0x6B90_1122, 0xFD98_7193, 0xA679_438E, 0x49B4_0821,
    0xF61E_2562, 0xC040_B340, 0x265E_5A51, 0xE9B6_C7AA, 0xD62F_105D, 0x0244_1453, 0xD8A1_E681, 0xE7D3_FBC8,
    0x21E1_CDE6, 0xC337_07D6, 0xF4D5_0D87, 0x455A_14ED, 0xA9E3_E905, 0xFCEF_A3F8, 0x676F_02D9, 0x8D2A_4C8A,
    0xFFFA_3942, 0x8771_F681, 0x6D9D_6122, 0xFDE5_380C, 0xA4BE_EA44, 0x4BDE_CFA9, 0xF6BB_4B60, 0xBEBF_BC70,
    0x289B_7EC6, 0xEAA1_27FA, 0xD4EF_3085, 0x0488_1D05, 0xD9D4_D039, 0xE6DB_99E5, 0x1FA2_7CF8, 0xC4AC_5665,
    0xF429_2244, 0x432A_FF97, 0xAB94_23A7, 0xFC93_A039, 0x655B_59C3, 0x8F0C_CC92, 0xFFEF_F47D, 0x8584_5DD1,
    0x6FA8_7E4F, 0xFE2C_E6E0, 0xA301_4314, 0x4E08_11A1, 0xF753_7E82, 0xBD3A_F235, 0x2AD7_D2BB, 0xEB86_D391,
  ]
}
