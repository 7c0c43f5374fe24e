import NotibotProtocol

/// Makes attribute PDUs from a seed: well-formed ones of every kind, and broken ones.
struct RandomPDU {
  var generator: SeededGenerator
  private var lastPDU: [UInt8] = [0x0A, 0x03, 0x00]
  /// Length of Data in the parts prepared so far.
  private var preparedBytes = 0

  init(seed: UInt64) {
    generator = SeededGenerator(seed: seed)
  }

  mutating func next() -> [UInt8] {
    let pdu = draw()
    lastPDU = pdu
    return pdu
  }

  private mutating func draw() -> [UInt8] {
    switch number(below: 20) {
    case 0: return [0x02] + word([23, 64, 185, 517, number(below: 65536)][number(below: 5)])
    case 1: return [0x04] + range()
    case 2: return [0x06] + range() + word([0x2800, 0x2803, 0x2902, 0x2A00][number(below: 4)]) + value()
    case 3: return [0x08] + range() + uuid()
    case 4: return [0x10] + range() + uuid()
    case 5: return [0x0A] + handle()
    case 6: return [0x0C] + handle() + word(number(below: 24))
    case 7: return [0x12] + handle() + word(number(below: 4) == 0 ? number(below: 65536) : number(below: 3))
    case 8...12: return [0x12, 0x06, 0x00] + notification()
    case 13: return [0x16] + handle() + word(number(below: 4)) + word(number(below: 2))
    case 14...15: return part()
    case 16: return [0x18, UInt8([1, 1, 1, 0, number(below: 256)][number(below: 5)])]
    case 17:
      return [UInt8(number(below: 256))] + (0..<number(below: 30)).map { _ in UInt8(number(below: 256)) }
    default: return broken(lastPDU)
    }
  }

  // MARK: Fields

  private mutating func handle() -> [UInt8] {
    word(number(below: 12) == 0 ? number(below: 65536) : number(below: 10))
  }

  private mutating func range() -> [UInt8] {
    switch number(below: 4) {
    case 0: word(1) + word(0xFFFF)
    case 1: handle() + word(0xFFFF)
    default: handle() + handle()
    }
  }

  private static let serviceUUID = [UInt8](hex: "4b9131c3c9c5cc8f9e45b51f01c2af4f")
  private static let countUUID = [UInt8](hex: "a8261b3607eaf5b78846e1363e48b5be")
  private static let dataUUID = [UInt8](hex: "7ee87b5d2e7a3dbf3a41f7d8e3d5951c")

  private mutating func uuid() -> [UInt8] {
    let short = [[0x00, 0x28], [0x03, 0x28], [0x02, 0x29], [0x01, 0x28], [0x00, 0x2A]][number(below: 5)]
    switch number(below: 6) {
    case 0: return Self.countUUID
    case 1: return Self.dataUUID
    case 2: return [UInt8](hex: "fb349b5f8000008000100000") + short.map(UInt8.init) + [0, 0]
    default: return short.map(UInt8.init)
    }
  }

  private mutating func value() -> [UInt8] {
    switch number(below: 4) {
    case 0: return Self.serviceUUID
    case 1: return [0x12, 0x03, 0x00] + Self.countUUID
    case 2: return [0x00, 0x00]
    default: return (0..<number(below: 20)).map { _ in UInt8(number(below: 256)) }
    }
  }

  // MARK: Long writes

  /// Mostly the next part of a notification that continues.
  private mutating func part() -> [UInt8] {
    let json = notification()
    let piece = Array(json.prefix(1 + number(below: json.count)))
    if number(below: 3) == 0 { preparedBytes = 0 }
    defer { preparedBytes += piece.count }
    return [0x16, 0x06, 0x00] + word(preparedBytes) + piece
  }

  // MARK: Data

  private mutating func notification() -> [UInt8] {
    var members = [
      "\"app\":\(string())", "\"title\":\(string())", "\"text\":\(string())",
      "\"timestamp\":\(["0", "1234567890", "4294967295", "4294967296", "-1", "1.0", "1e3", "01"][small(8)])",
    ]
    for _ in 0..<number(below: 5) { members.append(member()) }
    if number(below: 8) == 0 { members.remove(at: number(below: members.count)) }
    if number(below: 6) == 0 { members.swapAt(0, number(below: members.count)) }
    let separator = number(below: 10) == 0 ? " ,\n" : ","
    let json = Array("{\(members.joined(separator: separator))}".utf8)
    return number(below: 5) == 0 ? broken(json) : json
  }

  /// 0 most of the time.
  private mutating func small(_ limit: Int) -> Int {
    number(below: 3) == 0 ? number(below: limit) : 0
  }

  private mutating func string() -> String {
    let pieces = [
      "a", "é", "👍🏽", "\\n", "\\u00e9", "\\ud83d\\ude00", "\\ud83d", "\\u0000", "\\\"", "\\/", "\\x", "\t",
    ]
    let count = number(below: 12) == 0 ? number(below: 130) : number(below: 6)
    let piece = pieces[small(pieces.count)]
    return "\"" + String(repeating: piece, count: count) + "\""
  }

  private mutating func member() -> String {
    let id = 1 + number(below: 6)
    switch number(below: 14) {
    case 0...4: return "\"id\":\(id)"
    case 5: return "\"rev\":\([0, 1, 2, 65535, 65536][small(5)])"
    case 6: return "\"ev\":\(["\"m\"", "\"r\"", "\"a\"", "\"x\"", "1", "\"\\u0072\""][number(below: 6)])"
    case 7: return "\"lvl\":\(number(below: 5))"
    case 8: return "\"src\":\([1, 2, 3, 4, 5, 6, 0, 4_294_967_296][number(below: 8)])"
    case 9: return "\"grp\":\(string())"
    case 10: return "\"act\":[\((0..<number(below: 6)).map { _ in string() }.joined(separator: ","))]"
    case 11:
      return
        "\"\(["cat", "fl", "exp", "\\u0069d", "app"][number(below: 5)])\":\([0, 255, 256, 4_294_967_295][number(below: 4)])"
    case 12: return "\"x\(number(below: 9))\":\(nested(depth: number(below: 10)))"
    default:
      return
        "\"y\":\(["true", "false", "null", "nul", "-0", "0.5e+1", "1e", "00", ".5", "\"\""][number(below: 10)])"
    }
  }

  private mutating func nested(depth: Int) -> String {
    (0..<depth).reduce("\(number(below: 10))") { inner, _ in
      number(below: 2) == 0 ? "[\(inner)]" : "{\"k\":\(inner)}"
    }
  }

  private mutating func broken(_ bytes: [UInt8]) -> [UInt8] {
    var result = bytes
    guard !result.isEmpty else { return [0] }
    let index = number(below: result.count)
    switch number(below: 5) {
    case 0: result[index] ^= 1 << UInt8(number(below: 8))
    case 1: result.remove(at: index)
    case 2: result.insert(UInt8(number(below: 256)), at: index)
    case 3: result.removeLast(number(below: result.count))
    default: result.append(UInt8(number(below: 256)))
    }
    return result
  }

  private mutating func word(_ value: Int) -> [UInt8] {
    [UInt8(value & 0xFF), UInt8(value >> 8 & 0xFF)]
  }

  mutating func number(below limit: Int) -> Int {
    Int(generator.next() >> 33) % limit
  }
}
