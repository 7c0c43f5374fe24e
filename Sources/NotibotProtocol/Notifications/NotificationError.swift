/// Why bytes are not a notification, and where. Source: PROTOCOL.md NTF-1 to NTF-4.
package struct NotificationError: Error, Hashable, Sendable {
  package var reason: Reason
  /// The offset of the byte, counted from 0.
  package var offset: Int

  package init(_ reason: Reason, at offset: Int) {
    self.reason = reason
    self.offset = offset
  }

  /// The reason. A key's name is always one of the format, never one from the wire.
  package enum Reason: Hashable, Sendable {
    case tooLong(lengthBytes: Int)
    case invalidUTF8
    case byteOrderMark
    case notAnObject
    case unexpectedEnd
    case unexpectedByte(UInt8)
    case controlCharacter
    case badEscape
    case loneSurrogate
    case nullCharacter
    case tooDeep
    case trailingBytes
    case repeatedKey
    case missingKey(String)
    case wrongType(key: String)
    case valueTooLong(key: String, lengthBytes: Int)
    case notAWholeNumber(key: String)
    case numberOutOfRange(key: String)
    case valueNotAllowed(key: String)
    case tooManyValues(key: String)
  }
}

extension NotificationError: CustomStringConvertible {
  package var description: String {
    // Messages count bytes from 1, like lines and faults.
    "\(reason) (at byte \(offset + 1))"
  }
}

extension NotificationError.Reason: CustomStringConvertible {
  package var description: String {
    switch self {
    case .tooLong(let length): "\(length) bytes, where 512 are allowed"
    case .invalidUTF8: "not UTF-8"
    case .byteOrderMark: "a byte order mark is not allowed"
    case .notAnObject: "not a JSON object"
    case .unexpectedEnd: "the JSON ends too early"
    case .unexpectedByte(let byte): "byte 0x\(hex(byte)) is not JSON here"
    case .controlCharacter: "a control character is not escaped"
    case .badEscape: "an escape that JSON does not have"
    case .loneSurrogate: "half of a surrogate pair"
    case .nullCharacter: "U+0000 is not allowed"
    case .tooDeep: "nested more than 8 deep"
    case .trailingBytes: "something follows the object"
    case .repeatedKey: "a key stands twice"
    case .missingKey(let key): "the key '\(key)' is missing"
    case .wrongType(let key): "the value of '\(key)' has the wrong type"
    case .valueTooLong(let key, let length): "'\(key)' has \(length) bytes, more than allowed"
    case .notAWholeNumber(let key): "'\(key)' is not a whole number written with digits only"
    case .numberOutOfRange(let key): "'\(key)' is out of range"
    case .valueNotAllowed(let key): "'\(key)' has a value that is not allowed"
    case .tooManyValues(let key): "'\(key)' has too many values"
    }
  }
}
