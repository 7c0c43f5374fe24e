import Digests

/// An image that a ROM or a second-stage bootloader loads: a header, segments, a checksum and in
/// most images a SHA-256. Source: ESP-IDF, `esp_image_format.h`.
package struct ESPImage: Equatable, Sendable {
  /// A block of bytes and the address it is loaded to.
  package struct Segment: Equatable, Sendable {
    package var address: UInt32
    /// Offset of its bytes from the start of the image.
    package var offset: Int
    package var lengthBytes: Int
  }

  /// The SHA-256 of the image; a wrong one is an `ImageError`.
  package enum Hash: Equatable, Sendable {
    case none
    case valid([UInt8])
  }

  package static let magic: UInt8 = 0xE9
  package static let headerLengthBytes = 24
  package static let segmentsLimit = 16
  /// The longest segment: the address space of a flash chip.
  static let segmentLimitBytes: UInt32 = 16 << 20

  package var chipID: UInt16
  package var entry: UInt32
  /// `QIO`, `QOUT`, `DIO` or `DOUT`, else its number.
  package var flashModeName: String
  /// 0...7: 1 MB to 128 MB, doubled by each.
  package var flashSizeCode: UInt8
  package var flashFrequencyCode: UInt8
  /// The lowest chip revision, 100 × major + minor.
  package var minimumRevision: UInt16
  /// The highest one; 0 and 0xFFFF: any.
  package var maximumRevision: UInt16
  package var segments: [Segment]
  package var hash: Hash
  /// Bytes from the header to the end of checksum and hash.
  package var lengthBytes: Int
  package var descriptor: AppDescriptor?
  /// Whether the first segment begins with the description of a bootloader.
  package var isBootloader: Bool

  /// The size of the flash that it is built for, in bytes; `nil` for an unknown code.
  package var flashBytes: Int? { flashSizeCode <= 7 ? 1 << (20 + Int(flashSizeCode)) : nil }

  /// Whether its first segment is used where it lies in the flash: address and offset are the same
  /// within a page, of 16 KB at least. Only a bootloader sets that up.
  package var isMapped: Bool {
    segments.first.map { $0.address % 0x4000 == UInt32($0.offset) % 0x4000 } ?? false
  }

  /// The chip; `nil` if its number is not known.
  package var chip: ESPChip? { .with(id: chipID) }

  /// The revisions of the chip on which it runs, such as `v0.3 to v1.99`.
  package var revisionsText: String {
    func text(_ revision: UInt16) -> String { "v\(revision / 100).\(revision % 100)" }
    let hasMaximum = ![0, .max].contains(maximumRevision)
    return text(minimumRevision) + (hasMaximum ? " to \(text(maximumRevision))" : " and later")
  }

  /// Reads the image at the start of `bytes`, which can continue behind it. Checks the checksum and
  /// the hash, and first the chip if one is given. Throws `ImageError`.
  package init(parsing bytes: some Collection<UInt8>, for chip: ESPChip? = nil) throws(ImageError) {
    try self.init(contiguous: Array(bytes), for: chip)
  }

  private init(contiguous bytes: [UInt8], for chip: ESPChip?) throws(ImageError) {
    guard let first = bytes.first, !bytes.prefix(Self.headerLengthBytes).allSatisfy({ $0 == 0xFF }) else {
      throw .erased
    }
    guard first == Self.magic else {
      throw FileKind(of: bytes).map(ImageError.isOther) ?? .badMagic(first)
    }
    guard let entry: UInt32 = bytes.number(at: 4), let chipID: UInt16 = bytes.number(at: 12),
      let minimum: UInt16 = bytes.number(at: 15), let maximum: UInt16 = bytes.number(at: 17),
      bytes.count >= Self.headerLengthBytes
    else { throw .truncated(needed: Self.headerLengthBytes, present: bytes.count) }
    self.entry = entry
    self.chipID = chipID
    (minimumRevision, maximumRevision) = (minimum, maximum)
    let modes = ["QIO", "QOUT", "DIO", "DOUT"]
    flashModeName = bytes[2] < modes.count ? modes[Int(bytes[2])] : "mode \(bytes[2])"
    (flashSizeCode, flashFrequencyCode) = (bytes[3] >> 4, bytes[3] & 0x0F)
    let count = Int(bytes[1])
    guard 1...Self.segmentsLimit ~= count else { throw .badSegmentCount(count) }
    if let chip { try Self.check(chipID, for: chip) }
    segments = []
    var (position, checksum) = (Self.headerLengthBytes, UInt8(0xEF))
    for index in 0..<count {
      guard let address: UInt32 = bytes.number(at: position),
        let length: UInt32 = bytes.number(at: position + 4)
      else { throw .truncated(needed: position + 8, present: bytes.count, segment: index) }
      guard length <= Self.segmentLimitBytes, length % 4 == 0 else {
        throw .badSegmentLength(index: index, bytes: length)
      }
      let start = position + 8
      position = start + Int(length)
      guard position <= bytes.count else {
        throw .truncated(needed: position, present: bytes.count, segment: index)
      }
      checksum = bytes[start..<position].reduce(checksum, ^)
      segments.append(Segment(address: address, offset: start, lengthBytes: Int(length)))
    }
    // The checksum is the last byte of a row of 16.
    let end = (position + 16) / 16 * 16
    guard end <= bytes.count else {
      throw .truncated(needed: end, present: bytes.count, segment: count)
    }
    guard bytes[end - 1] == checksum else {
      throw .badChecksum(stored: bytes[end - 1], computed: checksum)
    }
    (hash, lengthBytes) = (.none, end)
    if bytes[23] == 1 {
      lengthBytes = end + SHA256.lengthBytes
      guard lengthBytes <= bytes.count else {
        throw .truncated(needed: lengthBytes, present: bytes.count, segment: count)
      }
      let stored = Array(bytes[end..<lengthBytes])
      guard SHA256.digest(of: bytes, in: 0..<end) == stored else { throw .badHash }
      hash = .valid(stored)
    }
    descriptor = segments.first.flatMap { AppDescriptor(parsing: bytes[$0.offset...]) }
    isBootloader = segments.first.map { $0.lengthBytes >= 80 && bytes[$0.offset] == 0x50 } ?? false
  }

  /// Throws `ImageError` unless the image is for this chip.
  package func check(for chip: ESPChip) throws(ImageError) { try Self.check(chipID, for: chip) }

  private static func check(_ id: UInt16, for chip: ESPChip) throws(ImageError) {
    guard let own = ESPChip.with(id: id) else { throw .unknownChip(id) }
    guard own == chip else { throw .wrongChip(image: own.name, expected: chip.name) }
  }
}

/// The description that an application contains. Source: ESP-IDF, `esp_app_desc_t`.
package struct AppDescriptor: Equatable, Sendable {
  static let magic: UInt32 = 0xABCD_5432
  static let lengthBytes = 256

  package var project: String
  package var version: String
  /// When it was compiled, as the compiler printed it.
  package var date: String
  package var time: String
  package var idfVersion: String
  /// SHA-256 of the ELF file.
  package var elfSHA256: [UInt8]

  /// `nil` if there is none at the start of these bytes.
  package init?(parsing bytes: some Collection<UInt8>) {
    let bytes = Array(bytes.prefix(Self.lengthBytes))
    guard bytes.count == Self.lengthBytes, bytes.number(UInt32.self, at: 0) == Self.magic else { return nil }
    version = bytes.text(at: 16, limit: 32)
    project = bytes.text(at: 48, limit: 32)
    time = bytes.text(at: 80, limit: 16)
    date = bytes.text(at: 96, limit: 16)
    idfVersion = bytes.text(at: 112, limit: 32)
    elfSHA256 = Array(bytes[144..<176])
  }
}
