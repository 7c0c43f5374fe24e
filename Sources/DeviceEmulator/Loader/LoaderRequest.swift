/// The operations of Espressif's serial protocol. Source: esptool documentation, "Serial Protocol".
enum LoaderOperation: UInt8, Equatable, Sendable {
  case flashBegin = 0x02
  case flashData = 0x03
  case flashEnd = 0x04
  case memoryBegin = 0x05
  case memoryEnd = 0x06
  case memoryData = 0x07
  case sync = 0x08
  case writeRegister = 0x09
  case readRegister = 0x0A
  case setFlashParameters = 0x0B
  case attachFlash = 0x0D
  case readFlashSlow = 0x0E
  case changeRate = 0x0F
  case deflateBegin = 0x10
  case deflateData = 0x11
  case deflateEnd = 0x12
  case flashMD5 = 0x13
  case securityInfo = 0x14
  // The stub only.
  case eraseFlash = 0xD0
  case eraseRegion = 0xD1
  case readFlash = 0xD2
  case runUserCode = 0xD3
}

/// One request of a host: `00 op length16 checksum32 data`.
struct LoaderRequest: Equatable, Sendable {
  static let headerBytes = 8

  var code: UInt8
  var checksum: UInt32
  var data: [UInt8]
  /// Whether the length in the header is that of the data.
  var isComplete: Bool

  /// nil if the frame is not a request; such a frame gets no answer.
  init?(_ frame: [UInt8]) {
    guard frame.count >= Self.headerBytes, frame[0] == 0 else { return nil }
    code = frame[1]
    checksum = frame.word(at: 4) ?? 0
    data = Array(frame[Self.headerBytes...])
    isComplete = Int(frame[2]) | Int(frame[3]) << 8 == data.count
  }

  /// The words of the data from its start; nil if it is shorter.
  func words(_ count: Int) -> [UInt32]? {
    guard data.count >= 4 * count else { return nil }
    return (0..<count).compactMap { data.word(at: 4 * $0) }
  }

  /// Whether it is SYNC: 07 07 12 20 and 32 times 55.
  var isSync: Bool {
    code == LoaderOperation.sync.rawValue && isComplete && data.count == 36
      && data.starts(with: [0x07, 0x07, 0x12, 0x20]) && data[4...].allSatisfy { $0 == 0x55 }
  }
}

/// Why a request fails, with the codes of the ROM and of the stub.
enum LoaderFailure: Error, Equatable, Sendable {
  case badLength
  case badParameter
  case blockSize
  case unsupported
  case checksum
  case notWriting
  case flashWrite
  case flashRead
  case readLength
  case memory
  case inflate
  case tooLittleData
  case tooMuchData

  /// The code in the second status byte of the ROM.
  var romCode: UInt8 {
    switch self {
    case .badParameter, .blockSize, .notWriting: 0x01
    case .badLength, .unsupported: 0x05
    case .checksum: 0x07
    case .flashWrite: 0x08
    case .flashRead: 0x09
    case .readLength: 0x0A
    case .inflate, .tooLittleData: 0x0B
    case .tooMuchData: 0x0D
    case .memory: 0x0E
    }
  }

  /// The first of the stub's two status bytes; the second is zero.
  var stubCode: UInt8 {
    switch self {
    case .badLength, .readLength: 0xC0
    case .checksum: 0xC1
    case .blockSize: 0xC2
    case .badParameter: 0xC3
    case .flashWrite, .flashRead, .memory: 0xC4
    case .notWriting: 0xC6
    case .inflate: 0xC7
    case .tooLittleData: 0xC8
    case .tooMuchData: 0xC9
    case .unsupported: 0xFF
    }
  }
}

extension [UInt8] {
  /// A little-endian word; nil beyond the end.
  func word(at offset: Int) -> UInt32? {
    guard offset >= 0, offset + 4 <= count else { return nil }
    return UInt32(self[offset]) | UInt32(self[offset + 1]) << 8 | UInt32(self[offset + 2]) << 16
      | UInt32(self[offset + 3]) << 24
  }

  /// The bytes of a word, little-endian.
  static func littleEndian(_ word: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * UInt32($0))) }
  }
}
