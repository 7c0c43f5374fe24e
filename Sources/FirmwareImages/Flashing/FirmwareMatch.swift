/// Whether the firmware that a board runs is that of an image.
package enum FirmwareMatch: Equatable, Sendable {
  /// The board reports the hash of the image's ELF file.
  case buildHash
  /// The board reports the version of the image, and no hash.
  case version
  /// Another firmware; the text has what it reports and what the image has.
  case other(String)
  /// It cannot be known; the text is the reason.
  case unknown(String)

  /// Shorter hashes match by chance.
  static let hashMinimumBytes = 4

  /// Compares what a board reports with what an image says about itself.
  ///
  /// - Parameters:
  ///   - version: FIRMWARE_VERSION, as the board sent it.
  ///   - buildHash: BUILD_HASH; PROTOCOL.md does not say of what.
  package init(version: String?, buildHash: [UInt8]?, image: AppDescriptor?) {
    guard let image else {
      self = .unknown("the image does not name itself")
      return
    }
    if let hash = buildHash, hash.count >= Self.hashMinimumBytes {
      if image.elfSHA256.starts(with: hash) {
        self = .buildHash
        return
      }
      let words =
        "it reports build hash \(hashText(hash)), the image has \(hashText(image.elfSHA256.prefix(8)))"
      // The hash can be of something else than the ELF file.
      self = version == image.version ? .unknown(words + "; the version is the same") : .other(words)
      return
    }
    guard let version else {
      self = .unknown("the firmware reports neither build hash nor version")
      return
    }
    self =
      version == image.version
      ? .version : .other("it reports version \(version), the image has \(image.version)")
  }
}

/// Bytes as hexadecimal digits in lower case.
package func hashText(_ bytes: some Sequence<UInt8>) -> String {
  bytes.map { hex(UInt32($0), digits: 2) }.joined().lowercased()
}
