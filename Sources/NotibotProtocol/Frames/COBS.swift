/// Consistent overhead byte stuffing: takes the zeros out of data, so that a zero can mark its end.
/// Source: PROTOCOL.md FRM-2.
package enum COBS {
  /// Data bytes in the longest block.
  private static let blockLimitBytes = 254

  /// Replaces `bytes[start...]` by its encoding. The byte at `start` must be a spare one, in front
  /// of the data.
  ///
  /// In place, because a zero and the code byte that stands for it take the same room: only a block
  /// of 254 bytes moves what follows, and a frame has two of these at most.
  package static func encodeInPlace(_ bytes: inout [UInt8], from start: Int) {
    var code = start
    var next = start + 1
    while true {
      let limit = code + 1 + blockLimitBytes
      let end = min(limit, bytes.count)
      next = bytes.span.bytes.firstZero(in: next..<end)
      bytes[code] = UInt8(next - code)
      if next == bytes.count { return }
      if next == limit { bytes.insert(0, at: next) }
      code = next
      next += 1
    }
  }

  /// The encoding of `data`, without the zeros around it.
  package static func encode(_ data: [UInt8]) -> [UInt8] {
    var encoded: [UInt8] = [0]
    encoded.append(contentsOf: data)
    encodeInPlace(&encoded, from: 0)
    return encoded
  }

  /// The data that `encoded` stands for, or nil when it is empty, holds a zero, or its last block
  /// is not whole.
  package static func decode(_ encoded: RawSpan) -> [UInt8]? {
    let count = encoded.byteCount
    guard count > 0, encoded.firstZero(in: 0..<count) == count else { return nil }
    // Copies everything but the first code in one go, then puts zeros where codes stand. Only after
    // a block of 254 bytes, which stands for no zero, is there a code to be left out.
    var data = [UInt8](copying: encoded.extracting(droppingFirst: 1))
    var leftOut = 0
    var position = 0
    while true {
      let code = Int(encoded.byte(at: position))
      guard code <= count - position else { return nil }
      position += code
      if position == count { break }
      if code == 255 {
        data.remove(at: position - 1 - leftOut)
        leftOut += 1
      } else {
        data[position - 1 - leftOut] = 0
      }
    }
    return data
  }

  /// The data that `encoded` stands for; see ``decode(_:)``.
  package static func decode(_ encoded: [UInt8]) -> [UInt8]? {
    decode(encoded.span.bytes)
  }
}
