import CNotibotCore
import NotibotProtocol

/// Makes streams of frames, text and damage from a seed.
struct RandomStream {
  var generator: SeededGenerator
  private var lastFrame: [UInt8] = [0]

  init(seed: UInt64) {
    generator = SeededGenerator(seed: seed)
  }

  /// The next piece of the line: mostly short, with zeros where the drawn kind has them.
  mutating func nextPiece() -> [UInt8] {
    switch number(below: 12) {
    case 0...2:
      lastFrame = randomFrame().encoded()
      return lastFrame
    case 3...5: return damaged(lastFrame)
    case 6...7: return repaired()
    case 8: return text()
    case 9: return noise(upTo: 24)
    case 10: return Array(lastFrame.dropFirst(number(below: 2)).dropLast(number(below: 2)))
    default: return number(below: 40) == 0 ? noZeros(upTo: 1100) : [0]
    }
  }

  mutating func randomFrame() -> Frame {
    let direction: Direction = number(below: 8) == 0 ? .fromDevice : .fromHost
    let types = FrameType.allCases.filter { $0.isPossible(direction) }
    return Frame(
      FrameHeader(
        type: types[number(below: types.count)], direction: direction,
        channel: Channel(rawValue: UInt8(number(below: 8))), session: UInt16(number(below: 3)),
        sequence: UInt8(number(below: 256)), ack: UInt8(number(below: 256)), credit: UInt8(number(below: 70))),
      payload: bytes(count: payloadLength()))
  }

  private mutating func payloadLength() -> Int {
    switch number(below: 24) {
    case 0: [0, 241, 242, 243, 244, 245, 246, 496, 497, 498, 499, 500, 526, 527, 528][number(below: 15)]
    case 1: number(below: 529)
    default: number(below: 30)
    }
  }

  /// Zeros are as frequent as in real headers.
  private mutating func bytes(count: Int) -> [UInt8] {
    let zeroEvery = [2, 8, 1_000_000][number(below: 3)]
    return (0..<count).map { _ in number(below: zeroEvery) == 0 ? 0 : UInt8(number(below: 256)) }
  }

  private mutating func noise(upTo limit: Int) -> [UInt8] {
    (0..<number(below: limit)).map { _ in UInt8(number(below: 256)) }
  }

  private mutating func noZeros(upTo limit: Int) -> [UInt8] {
    // A first block with a possible header, so that the candidate is kept.
    [0x02, 0x40] + (0..<number(below: limit)).map { _ in UInt8(1 + number(below: 3)) }
  }

  private mutating func text() -> [UInt8] {
    Array("I (\(number(below: 100_000))) notibot: \(number(below: 10))\r\n".utf8)
      + (number(below: 2) == 0 ? [0] : [])
  }

  /// One to three bytes changed, lost, added or duplicated.
  private mutating func damaged(_ frame: [UInt8]) -> [UInt8] {
    var result = frame
    for _ in 0..<(1 + number(below: 3)) where !result.isEmpty {
      let index = number(below: result.count)
      switch number(below: 5) {
      case 0: result[index] ^= 1 << UInt8(number(below: 8))
      case 1: result.remove(at: index)
      case 2: result.insert(UInt8(number(below: 256)), at: index)
      case 3: result[index] = UInt8(number(below: 3))
      default: result.insert(result[index], at: index)
      }
    }
    return result
  }

  /// A frame with a wrong field, but a correct CRC.
  private mutating func repaired() -> [UInt8] {
    var decoded = bytes(count: 8 + payloadLength())
    let length = UInt16(decoded.count - 8)
    decoded[1] = UInt8(length & 0xFF)
    decoded[2] = UInt8(length >> 8)
    switch number(below: 6) {
    case 0: decoded[number(below: 8)] = UInt8(number(below: 256))
    case 1: decoded[1] &+= 1
    case 2: decoded.removeLast(number(below: 9))
    case 3: decoded += bytes(count: number(below: 40))
    default: decoded[0] = UInt8(number(below: 256))
    }
    let crc = nb_crc32(0, decoded, decoded.count)
    decoded += (0..<4).map { UInt8(truncatingIfNeeded: crc >> (8 * UInt32($0))) }
    return [0] + Self.stuffed(decoded, hasLongForm: number(below: 2) == 0) + [0]
  }

  /// A third implementation of COBS, so that neither codec under test generates its own input.
  ///
  /// - Parameter hasLongForm: whether a final block of 254 bytes is followed by 01 (FRM-2).
  private static func stuffed(_ bytes: [UInt8], hasLongForm: Bool) -> [UInt8] {
    var result: [UInt8] = []
    var block: [UInt8] = []
    var isOpen = true
    for byte in bytes {
      isOpen = true
      if byte == 0 {
        result += [UInt8(block.count + 1)] + block
        block = []
      } else {
        block.append(byte)
        guard block.count == 254 else { continue }
        result += [255] + block
        block = []
        isOpen = false
      }
    }
    if isOpen || hasLongForm { result += [UInt8(block.count + 1)] + block }
    return result
  }

  mutating func number(below limit: Int) -> Int {
    Int(generator.next() >> 33) % limit
  }
}
