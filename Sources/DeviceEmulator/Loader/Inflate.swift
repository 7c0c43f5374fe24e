/// Decompresses a zlib stream that arrives in pieces. Source: RFC 1950, RFC 1951.
///
/// States: *header* → *block header* → *stored* or *coded* → *block header* … → *trailer* →
/// *ended*. A symbol that is not complete is decoded again with the next piece.
struct Inflate: Equatable, Sendable {
  private enum Stage: Equatable, Sendable {
    case header
    case blockHeader
    case stored(left: Int)
    case coded(literals: HuffmanTable, distances: HuffmanTable)
    case trailer
    case ended
  }

  private static let windowBytes = 32_768

  /// The most bytes that come out.
  let outputLimitBytes: Int
  private(set) var outputCount = 0
  private var stage = Stage.header
  private var isLastBlock = false
  private var input: [UInt8] = []
  private var position = 0
  private var bits: UInt64 = 0
  private var bitCount = 0
  /// The window, followed by output that was not taken.
  private var output: [UInt8] = []
  private var takenCount = 0
  private var checksum = Adler32()

  init(outputLimitBytes: Int) {
    self.outputLimitBytes = outputLimitBytes
  }

  /// Whether the stream has ended, with the right checksum.
  var hasEnded: Bool { stage == .ended }

  /// Receives a piece and returns what can be decompressed so far. Bytes after the end are ignored.
  mutating func receive(_ piece: some Collection<UInt8>) throws(LoaderFailure) -> [UInt8] {
    input.removeFirst(position)
    position = 0
    input += piece
    while try advance() {}
    let result = Array(output[takenCount...])
    checksum.add(result)
    if stage == .trailer { try finish() }
    output.removeFirst(max(0, output.count - Self.windowBytes))
    takenCount = output.count
    return result
  }

  /// Decodes as far as the input reaches; returns false if it needs more, or nothing is left to do.
  private mutating func advance() throws(LoaderFailure) -> Bool {
    switch stage {
    case .header:
      guard let header = peek(16) else { return false }
      let (method, flags) = (header & 0xFF, header >> 8)
      guard method & 0x0F == 8, (method << 8 | flags) % 31 == 0, flags & 0x20 == 0 else { throw .inflate }
      skip(16)
      stage = .blockHeader
    case .blockHeader:
      let start = (position, bits, bitCount)
      guard try readBlockHeader() else {
        (position, bits, bitCount) = start
        return false
      }
    case .stored(let left):
      return try copyStored(left)
    case .coded(let literals, let distances):
      return try decodeSymbols(literals, distances)
    case .trailer, .ended:
      return false
    }
    return true
  }

  private mutating func readBlockHeader() throws(LoaderFailure) -> Bool {
    guard let header = read(3) else { return false }
    isLastBlock = header & 1 == 1
    switch header >> 1 {
    case 0:
      skip(bitCount & 7)
      guard let lengths = read(32) else { return false }
      guard lengths & 0xFFFF == ~lengths >> 16 & 0xFFFF else { throw .inflate }
      stage = .stored(left: Int(lengths & 0xFFFF))
    case 1:
      stage = .coded(literals: DeflateTables.fixedLiterals, distances: DeflateTables.fixedDistances)
    case 2:
      return try readCodes()
    case _:
      throw .inflate
    }
    return true
  }

  /// Reads the two codes of a dynamic block. Source: RFC 1951, 3.2.7.
  private mutating func readCodes() throws(LoaderFailure) -> Bool {
    guard let counts = read(14) else { return false }
    let (literals, distances) = (Int(counts & 31) + 257, Int(counts >> 5 & 31) + 1)
    guard literals <= 286, distances <= 30 else { throw .inflate }
    var lengths = [UInt8](repeating: 0, count: 19)
    for index in 0..<Int(counts >> 10) + 4 {
      guard let length = read(3) else { return false }
      lengths[DeflateTables.lengthOrder[index]] = UInt8(length)
    }
    guard let code = HuffmanTable(lengths: lengths[...]) else { throw .inflate }
    lengths = []
    while lengths.count < literals + distances {
      guard let symbol = try readSymbol(code) else { return false }
      let (value, extraBits, base): (UInt8, Int, Int)
      switch symbol {
      case 0...15: (value, extraBits, base) = (UInt8(symbol), 0, 1)
      case 16:
        guard let last = lengths.last else { throw .inflate }
        (value, extraBits, base) = (last, 2, 3)
      case 17: (value, extraBits, base) = (0, 3, 3)
      case _: (value, extraBits, base) = (0, 7, 11)
      }
      guard let extra = read(extraBits) else { return false }
      lengths += [UInt8](repeating: value, count: base + Int(extra))
    }
    guard lengths.count == literals + distances, lengths[256] != 0,
      let literalTable = HuffmanTable(lengths: lengths[..<literals]),
      let distanceTable = HuffmanTable(lengths: lengths[literals...])
    else { throw .inflate }
    stage = .coded(literals: literalTable, distances: distanceTable)
    return true
  }

  private mutating func copyStored(_ left: Int) throws(LoaderFailure) -> Bool {
    var left = left
    while left > 0, bitCount >= 8 {
      try append(UInt8(truncatingIfNeeded: bits))
      skip(8)
      left -= 1
    }
    let count = min(left, input.count - position)
    guard count <= outputLimitBytes - outputCount else { throw .tooMuchData }
    output += input[position..<position + count]
    outputCount += count
    position += count
    left -= count
    stage = left > 0 ? .stored(left: left) : afterBlock
    return left == 0
  }

  private var afterBlock: Stage { isLastBlock ? .trailer : .blockHeader }

  private mutating func decodeSymbols(
    _ literals: HuffmanTable, _ distances: HuffmanTable
  ) throws(LoaderFailure) -> Bool {
    while true {
      let start = (position, bits, bitCount)
      guard let symbol = try readSymbol(literals) else {
        (position, bits, bitCount) = start
        return false
      }
      if symbol < 256 {
        try append(UInt8(symbol))
      } else if symbol == 256 {
        stage = afterBlock
        return true
      } else {
        guard symbol - 257 < DeflateTables.lengths.count else { throw .inflate }
        let length = DeflateTables.lengths[symbol - 257]
        guard let extra = read(length.extraBits), let slot = try readSymbol(distances) else {
          (position, bits, bitCount) = start
          return false
        }
        guard slot < DeflateTables.distances.count else { throw .inflate }
        let distance = DeflateTables.distances[slot]
        guard let further = read(distance.extraBits) else {
          (position, bits, bitCount) = start
          return false
        }
        try copy(length.base + Int(extra), from: distance.base + Int(further))
      }
    }
  }

  private mutating func append(_ byte: UInt8) throws(LoaderFailure) {
    guard outputCount < outputLimitBytes else { throw .tooMuchData }
    output.append(byte)
    outputCount += 1
  }

  private mutating func copy(_ count: Int, from distance: Int) throws(LoaderFailure) {
    guard distance <= output.count, distance <= Self.windowBytes else { throw .inflate }
    guard count <= outputLimitBytes - outputCount else { throw .tooMuchData }
    let start = output.count - distance
    for index in 0..<count { output.append(output[start + index]) }
    outputCount += count
  }

  /// Compares the checksum after the last block, if it is complete.
  private mutating func finish() throws(LoaderFailure) {
    let odd = bitCount & 7
    guard let bytes = peek(odd + 32) else { return }
    let expected = UInt32(truncatingIfNeeded: bytes >> UInt64(odd)).byteSwapped
    guard expected == checksum.value else { throw .inflate }
    skip(odd + 32)
    stage = .ended
  }

  // MARK: Bits

  private mutating func readSymbol(_ table: HuffmanTable) throws(LoaderFailure) -> Int? {
    refill()
    guard let found = table.symbol(in: bits), found.lengthBits <= bitCount else {
      if bitCount >= HuffmanTable.lengthLimitBits { throw .inflate }
      return nil
    }
    skip(found.lengthBits)
    return found.symbol
  }

  private mutating func read(_ count: Int) -> UInt64? {
    guard let value = peek(count) else { return nil }
    skip(count)
    return value
  }

  private mutating func peek(_ count: Int) -> UInt64? {
    refill()
    return count <= bitCount ? bits & ((1 << UInt64(count)) - 1) : nil
  }

  private mutating func skip(_ count: Int) {
    bits >>= UInt64(count)
    bitCount -= count
  }

  private mutating func refill() {
    while bitCount <= 48, position < input.count {
      bits |= UInt64(input[position]) << UInt64(bitCount)
      bitCount += 8
      position += 1
    }
  }
}

/// The checksum of a zlib stream. Source: RFC 1950, 9.
struct Adler32: Equatable, Sendable {
  private var low: UInt32 = 1
  private var high: UInt32 = 0

  var value: UInt32 { high << 16 | low }

  mutating func add(_ bytes: [UInt8]) {
    var start = 0
    while start < bytes.count {
      // So few that 32 bits do not overflow between two divisions.
      let end = min(bytes.count, start + 5552)
      for index in start..<end {
        low += UInt32(bytes[index])
        high += low
      }
      low %= 65_521
      high %= 65_521
      start = end
    }
  }
}
