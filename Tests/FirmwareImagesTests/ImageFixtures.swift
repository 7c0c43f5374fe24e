import FirmwareImages

/// The bytes of hexadecimal digits.
func bytes(_ digits: String) -> [UInt8] {
  let nibbles = digits.compactMap(\.hexDigitValue).map(UInt8.init)
  return stride(from: 0, to: nibbles.count - 1, by: 2).map { nibbles[$0] << 4 | nibbles[$0 + 1] }
}

/// An ESP32-C3 application of two segments, made by Python's struct and hashlib; esptool's
/// `image-info` accepts it.
let sampleImage = bytes(
  """
  e902022f00c03740ee0000000500000300ffff00000000012000003c000100003254cdab000000000000000000000000
  312e302e300000000000000000000000000000000000000000000000000000006e6f7469626f74000000000000000000
  0000000000000000000000000000000031323a33343a353600000000000000004e6f7620323320323032360000000000
  76352e3300000000000000000000000000000000000000000000000000000000000102030405060708090a0b0c0d0e0f
  101112131415161718191a1b1c1d1e1f0000000000000000000000000000000000000000000000000000000000000000
  000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
  00c03740100000001300000013000000130000001300000000000000000000b2fdb63a2836373cbe954b10eadcbad6ee
  b8f775ef42847cc3030af5a102fd215c
  """)

/// Five partitions and their MD5, made by Python's struct and hashlib.
let sampleTable = bytes(
  """
  aa50010200900000004000006e76730000000000000000000000000000000000aa50010000d00000002000006f746164
  61746100000000000000000000000000aa5000000000010000000100666163746f727900000000000000000000000000
  aa50001000000200000001006f74615f30000000000000000000000000000000aa50001100000300000001006f74615f
  31000000000000000000000000000000ebebffffffffffffffffffffffffffff4ccc80535ee54a7937f187779ee28b40
  """)

/// A flash of `lengthBytes` that is erased except for these parts.
func flash(_ parts: [Int: [UInt8]], lengthBytes: Int = 0x40000) -> [UInt8] {
  var flash = [UInt8](repeating: 0xFF, count: lengthBytes)
  for (offset, part) in parts { flash.replaceSubrange(offset..<offset + part.count, with: part) }
  return flash
}

extension [UInt8] {
  func with(_ byte: UInt8, at offset: Int) -> [UInt8] {
    var changed = self
    changed[offset] = byte
    return changed
  }

  /// The sample image without its descriptor, as a bootloader is.
  var asBootloader: [UInt8] {
    var changed = Array(dropLast(32)).with(0, at: 23)
    for offset in 32..<36 {
      // The checksum is the XOR of all bytes.
      changed[changed.count - 1] ^= changed[offset]
      changed[offset] = 0
    }
    return changed
  }
}
