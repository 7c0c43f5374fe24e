/// A key of `aps` that Apple documents, and of which type its value is. A value of another type is
/// ignored, as on a phone, and said; docs/GATEWAY.md has the same table.
/// Source: Apple, "Generating a remote notification"; "Starting and updating Live Activities with
/// ActivityKit push notifications"; "Updating widgets with WidgetKit push notifications".
package enum PayloadField: String, Hashable, Sendable, CaseIterable {
  case alert, badge, sound, category, event, timestamp, attributes
  case threadID = "thread-id"
  case interruptionLevel = "interruption-level"
  case contentAvailable = "content-available"
  case mutableContent = "mutable-content"
  case contentChanged = "content-changed"
  case targetContentID = "target-content-id"
  case relevanceScore = "relevance-score"
  case filterCriteria = "filter-criteria"
  case contentState = "content-state"
  case staleDate = "stale-date"
  case dismissalDate = "dismissal-date"
  case attributesType = "attributes-type"
  case title = "alert.title"
  case subtitle = "alert.subtitle"
  case body = "alert.body"
  case launchImage = "alert.launch-image"
  case titleLocKey = "alert.title-loc-key"
  case titleLocArgs = "alert.title-loc-args"
  case subtitleLocKey = "alert.subtitle-loc-key"
  case subtitleLocArgs = "alert.subtitle-loc-args"
  case locKey = "alert.loc-key"
  case locArgs = "alert.loc-args"

  package enum ValueType: String, Hashable, Sendable {
    case string = "a string"
    case number = "a number"
    /// At most `countLimit`.
    case count = "a whole number from 0"
    case flag = "0 or 1"
    case strings = "an array of strings"
    case object = "an object"

    func matches(_ value: JSONValue) -> Bool {
      switch self {
      case .string: value.string != nil
      case .number: value.double != nil
      case .count: value.whole.map { (0...Self.countLimit).contains($0) } ?? false
      // Of which many senders make a boolean.
      case .flag: value.double != nil || value.bool != nil
      case .strings: value.array != nil
      case .object: value.object != nil
      }
    }

    static let countLimit: Int64 = 0x7FFF_FFFF
  }

  package var types: [ValueType] {
    switch self {
    case .alert: [.string, .object]
    case .badge: [.count]
    case .sound: [.string, .object]
    case .contentAvailable, .mutableContent, .contentChanged: [.flag]
    case .relevanceScore, .timestamp, .staleDate, .dismissalDate: [.number]
    case .contentState, .attributes: [.object]
    case .titleLocArgs, .subtitleLocArgs, .locArgs: [.strings]
    case .category, .event, .threadID, .interruptionLevel, .targetContentID, .filterCriteria,
      .attributesType, .title, .subtitle, .body, .launchImage, .titleLocKey, .subtitleLocKey, .locKey:
      [.string]
    }
  }

  package var place: String { "aps.\(rawValue)" }

  /// Keys of `aps`, and of `aps.alert`, as they stand there.
  static let ofAps = allCases.filter { !$0.rawValue.hasPrefix("alert.") }.map { ($0, $0.rawValue) }
  static let ofAlert = allCases.filter { $0.rawValue.hasPrefix("alert.") }
    .map { ($0, String($0.rawValue.dropFirst("alert.".count))) }

  /// The values of `object` that have the right types; `null` is none.
  static func values(
    of fields: [(PayloadField, String)], in object: [String: JSONValue], _ remarks: inout [PushRemark]
  ) -> [PayloadField: JSONValue] {
    var values: [PayloadField: JSONValue] = [:]
    for (field, key) in fields {
      guard let value = object[key], value != .null else { continue }
      if field.types.contains(where: { $0.matches(value) }) {
        values[field] = value
      } else {
        remarks.append(field.remark("is \(value.typeName), which is ignored"))
      }
    }
    return values
  }

  func remark(_ words: String) -> PushRemark {
    PushRemark(place, words, remedy: "send \(types.map(\.rawValue).joined(separator: " or "))")
  }
}
