/// Any JSON, for reports whose figures are compared by their names.
package enum JSONValue: Equatable, Sendable, Decodable {
  /// No figure is larger, and squares of figures are still finite.
  private static let largest = 1e100

  case null
  case bool(Bool)
  case number(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Double.self) {
      guard abs(value) <= Self.largest else {
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "no figure is that large")
      }
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode([JSONValue].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  package subscript(key: String) -> JSONValue? {
    if case .object(let members) = self { members[key] } else { nil }
  }

  package var text: String? {
    if case .string(let text) = self { text } else { nil }
  }

  /// Every number below this value, with the names on the way to it, sorted. Lists of single
  /// events are not figures.
  package var figures: [(name: String, value: Double)] { numbers("").sorted { $0.name < $1.name } }

  /// Members that describe the run, or have many values.
  private static let descriptions: Set<String> = [
    "version", "seed", "runs", "histogram", "samples", "events", "cases", "bench", "console",
  ]

  private func numbers(_ path: String) -> [(name: String, value: Double)] {
    switch self {
    case .null, .bool, .string: []
    case .number(let value): [(path, value)]
    case .array(let values):
      values.enumerated().flatMap { $1.numbers("\(path).\($0 + 1)") }
    case .object(let members):
      members.filter { !Self.descriptions.contains($0.key) }.flatMap { key, value in
        value.numbers(path.isEmpty ? key : "\(path).\(key)")
      }
    }
  }
}
