import FirmwareImages

/// An image in flash: a boot loader or an application. Source: ESP-IDF, `esp_image_format.h` and
/// `esp_app_format.h`.
struct BootImage: Equatable, Sendable {
  /// Why an image does not start.
  enum Defect: Error, Equatable, Sendable {
    /// The first word, which has not the magic of an image.
    case badMagic(UInt32)
    case wrongChip(UInt16)
    /// A segment does not lie in the image's place.
    case badSegment(Int)
    case badChecksum(calculated: UInt8, read: UInt8)
    case badHash
  }

  struct Segment: Equatable, Sendable {
    var address: UInt32
    /// Where its data is in flash.
    var data: Range<Int>
  }

  private static let headerBytes = 24
  private static let segmentsLimit = 16
  private static let hashBytes = 32

  let segments: [Segment]
  let entry: UInt32
  /// Of an application: what it says about itself.
  let descriptor: AppDescriptor?
  /// Whether the first segment is the description of a boot loader.
  let isBootLoader: Bool

  /// Reads and checks the image at an address; it must end before `limit`.
  init(at start: Int, limit: Int, in flash: NORFlash, chip: ChipModel) throws(Defect) {
    guard let header = flash.read(at: start, count: Self.headerBytes), limit <= flash.sizeBytes else {
      throw .badSegment(0)
    }
    guard header[0] == 0xE9, (1...Self.segmentsLimit).contains(Int(header[1])) else {
      throw .badMagic(header.word(at: 0) ?? 0)
    }
    let chipID = UInt16(header[12]) | UInt16(header[13]) << 8
    guard chipID == chip.imageID else { throw .wrongChip(chipID) }
    entry = header.word(at: 4) ?? 0
    var segments: [Segment] = []
    var position = start + Self.headerBytes
    var checksum: UInt8 = 0xEF
    for index in 0..<Int(header[1]) {
      guard let head = flash.read(at: position, count: 8), let address = head.word(at: 0),
        let count = head.word(at: 4), Int(count) <= limit - position - 8
      else { throw .badSegment(index) }
      let data = position + 8..<position + 8 + Int(count)
      for byte in flash.bytes[data] { checksum ^= byte }
      segments.append(Segment(address: address, data: data))
      position = data.upperBound
    }
    self.segments = segments
    // The checksum is the last byte of a row of 16.
    let end = start + (position - start) / 16 * 16 + 16
    guard let read = flash.read(at: end - 1, count: 1)?.first, end <= limit else {
      throw .badSegment(segments.count)
    }
    guard read == checksum else { throw .badChecksum(calculated: checksum, read: read) }
    if header[23] == 1 {
      let expected = flash.read(at: end, count: Self.hashBytes)
      guard expected == SHA256.digest(of: flash.bytes, in: start..<end) else { throw .badHash }
    }
    let first = segments.first.flatMap { segment in
      flash.read(at: segment.data.lowerBound, count: min(AppDescriptor.sizeBytes, segment.data.count))
    }
    descriptor = first.flatMap { AppDescriptor($0) }
    isBootLoader = first?.first == 0x50 && first?.count ?? 0 >= 80
  }
}

/// What an application says about itself.
struct AppDescriptor: Equatable, Sendable {
  static let sizeBytes = 256
  private static let magic: UInt32 = 0xABCD_5432

  let version: String
  let project: String
  /// The first bytes of the SHA-256 of its ELF file.
  let buildHash: [UInt8]

  /// nil if the bytes are no descriptor.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.sizeBytes, bytes.word(at: 0) == Self.magic else { return nil }
    version = Self.text(bytes[16..<48])
    project = Self.text(bytes[48..<80])
    buildHash = Array(bytes[144..<148])
  }

  /// The printable characters up to the first zero.
  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes.prefix { $0 != 0 }.filter { (0x20...0x7E).contains($0) }, as: UTF8.self)
  }
}
