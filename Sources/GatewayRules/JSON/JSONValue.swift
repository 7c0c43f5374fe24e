/// A JSON value of limited size and depth. Source: RFC 8259.
package enum JSONValue: Hashable, Sendable {
  case null
  case bool(Bool)
  case number(Double)
  /// A number that a `Double` does not hold exactly, as it is written: an id of 19 digits is not
  /// rounded.
  case longNumber(String)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// Objects and arrays around a value, at most.
  package static let depthLimit = 16

  /// 2⁵³: beyond it a `Double` does not hold every whole number.
  static let wholeLimit: Double = 9_007_199_254_740_992

  /// Parses one value; a byte order mark before it is ignored. U+0000 and halves of surrogate pairs
  /// become U+FFFD.
  /// - Parameter isLenient: the last one of repeated keys counts, and what follows the value does
  ///   not, as in Go.
  package init(parsing bytes: [UInt8], limitBytes: Int, isLenient: Bool = false) throws(InputProblem) {
    guard bytes.count <= limitBytes else { throw InputProblem("too many bytes", at: limitBytes) }
    guard String(validating: bytes, as: UTF8.self) != nil else {
      throw InputProblem("not UTF-8", at: Self.validPrefix(of: bytes))
    }
    var parser = JSONParser(bytes, isLenient: isLenient)
    self = try parser.document()
  }

  /// Bytes before the first one that is not UTF-8.
  private static func validPrefix(of bytes: [UInt8]) -> Int {
    var (decoder, iterator) = (UTF8(), bytes.makeIterator())
    var count = 0
    while case .scalarValue(let scalar) = decoder.decode(&iterator) { count += UTF8.width(scalar) }
    return count
  }
}

extension JSONValue {
  package var string: String? {
    if case .string(let text) = self { text } else { nil }
  }

  package var bool: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  /// The number, perhaps rounded.
  package var double: Double? {
    switch self {
    case .number(let value): value
    case .longNumber(let digits): Double(digits)
    case .null, .bool, .string, .array, .object: nil
    }
  }

  /// The number if it is whole and exact.
  package var whole: Int64? {
    guard case .number(let value) = self, abs(value) <= Self.wholeLimit else { return nil }
    return Int64(exactly: value)
  }

  package var array: [JSONValue]? {
    if case .array(let values) = self { values } else { nil }
  }

  package var object: [String: JSONValue]? {
    if case .object(let members) = self { members } else { nil }
  }

  package subscript(key: String) -> JSONValue? { object?[key] }

  /// The value at a path of keys, such as `todoProgress.completed`.
  package func value(at path: String) -> JSONValue? {
    path.split(separator: ".", omittingEmptySubsequences: false)
      .reduce(JSONValue?.some(self)) { $0?[String($1)] }
  }

  /// The value as it stands in a text: strings, numbers and booleans only.
  package var text: String? {
    switch self {
    case .string(let text): text
    case .number(let value): whole.map { String($0) } ?? String(value)
    case .longNumber(let digits): digits
    case .bool(let value): String(value)
    case .null, .array, .object: nil
    }
  }

  /// The type in words.
  package var typeName: String {
    switch self {
    case .null: "null"
    case .bool: "a boolean"
    case .number, .longNumber: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}
