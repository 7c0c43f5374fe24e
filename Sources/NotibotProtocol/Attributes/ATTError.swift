/// Why an attribute server refused; codes without a name are kept. Source: PROTOCOL.md section 3,
/// table of codes.
public struct ATTError: RawRepresentable, Error, Hashable, Sendable {
  /// The code, as on the wire.
  public let rawValue: UInt8

  /// The error with this code, named or not.
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// There is no attribute with this handle.
  public static let invalidHandle = ATTError(rawValue: 0x01)
  /// The attribute cannot be read.
  public static let readNotPermitted = ATTError(rawValue: 0x02)
  /// The attribute cannot be written.
  public static let writeNotPermitted = ATTError(rawValue: 0x03)
  /// The PDU is malformed.
  public static let invalidPDU = ATTError(rawValue: 0x04)
  /// The link is not authenticated.
  public static let insufficientAuthentication = ATTError(rawValue: 0x05)
  /// The device does not know this request.
  public static let requestNotSupported = ATTError(rawValue: 0x06)
  /// The offset is beyond the end of the value.
  public static let invalidOffset = ATTError(rawValue: 0x07)
  /// The client is not authorized.
  public static let insufficientAuthorization = ATTError(rawValue: 0x08)
  /// The parts of a long write do not fit.
  public static let prepareQueueFull = ATTError(rawValue: 0x09)
  /// No attribute matches.
  public static let attributeNotFound = ATTError(rawValue: 0x0A)
  /// The attribute cannot be read in parts.
  public static let attributeNotLong = ATTError(rawValue: 0x0B)
  /// The key of the link is too short.
  public static let encryptionKeyTooShort = ATTError(rawValue: 0x0C)
  /// The value has a length that the attribute does not take.
  public static let invalidValueLength = ATTError(rawValue: 0x0D)
  /// An error without a code of its own.
  public static let unlikelyError = ATTError(rawValue: 0x0E)
  /// The link is not encrypted.
  public static let insufficientEncryption = ATTError(rawValue: 0x0F)
  /// The type is not one of a group.
  public static let unsupportedGroupType = ATTError(rawValue: 0x10)
  /// The store of the device is full.
  public static let insufficientResources = ATTError(rawValue: 0x11)
  /// The attribute does not take this value.
  public static let valueNotAllowed = ATTError(rawValue: 0x13)
  /// The JSON is not a valid notification.
  public static let notANotification = ATTError(rawValue: 0x80)
  /// A notification with this identity and revision has other content.
  public static let conflict = ATTError(rawValue: 0x81)
  /// The subscription is not one that the attribute offers.
  public static let cccdImproperlyConfigured = ATTError(rawValue: 0xFD)
}

extension ATTError: CustomStringConvertible {
  /// The meaning and the code: `store full (ATT error 0x11)`.
  public var description: String {
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
