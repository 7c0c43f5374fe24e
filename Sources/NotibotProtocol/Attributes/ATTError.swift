/// Why an attribute server refused; codes without a name are kept. Source: PROTOCOL.md section 3,
/// table of codes.
package struct ATTError: RawRepresentable, Error, Hashable, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  package static let invalidHandle = ATTError(rawValue: 0x01)
  package static let readNotPermitted = ATTError(rawValue: 0x02)
  package static let writeNotPermitted = ATTError(rawValue: 0x03)
  package static let invalidPDU = ATTError(rawValue: 0x04)
  package static let insufficientAuthentication = ATTError(rawValue: 0x05)
  package static let requestNotSupported = ATTError(rawValue: 0x06)
  package static let invalidOffset = ATTError(rawValue: 0x07)
  package static let insufficientAuthorization = ATTError(rawValue: 0x08)
  package static let prepareQueueFull = ATTError(rawValue: 0x09)
  package static let attributeNotFound = ATTError(rawValue: 0x0A)
  package static let attributeNotLong = ATTError(rawValue: 0x0B)
  package static let encryptionKeyTooShort = ATTError(rawValue: 0x0C)
  package static let invalidValueLength = ATTError(rawValue: 0x0D)
  package static let unlikelyError = ATTError(rawValue: 0x0E)
  package static let insufficientEncryption = ATTError(rawValue: 0x0F)
  package static let unsupportedGroupType = ATTError(rawValue: 0x10)
  package static let insufficientResources = ATTError(rawValue: 0x11)
  package static let valueNotAllowed = ATTError(rawValue: 0x13)
  package static let notANotification = ATTError(rawValue: 0x80)
  package static let conflict = ATTError(rawValue: 0x81)
  package static let cccdImproperlyConfigured = ATTError(rawValue: 0xFD)
}

extension ATTError: CustomStringConvertible {
  /// The meaning and the code: `store full (ATT error 0x11)`.
  package var description: String {
    "\(meaning) (ATT error 0x\(hex(rawValue)))"
  }

  private var meaning: String {
    switch self {
    case .invalidHandle: "invalid handle"
    case .readNotPermitted: "read not permitted"
    case .writeNotPermitted: "write not permitted"
    case .invalidPDU: "invalid PDU"
    case .insufficientAuthentication: "insufficient authentication"
    case .requestNotSupported: "request not supported"
    case .invalidOffset: "invalid offset"
    case .insufficientAuthorization: "insufficient authorization"
    case .prepareQueueFull: "prepare queue full"
    case .attributeNotFound: "attribute not found"
    case .attributeNotLong: "attribute not long"
    case .encryptionKeyTooShort: "encryption key too short"
    case .invalidValueLength: "invalid attribute value length"
    case .unlikelyError: "unlikely error"
    case .insufficientEncryption: "insufficient encryption"
    case .unsupportedGroupType: "unsupported group type"
    case .insufficientResources: "store full"
    case .valueNotAllowed: "value not allowed"
    case .notANotification: "not a valid notification"
    case .conflict: "conflict"
    case .cccdImproperlyConfigured: "CCCD improperly configured"
    default: "unnamed error"
    }
  }
}
