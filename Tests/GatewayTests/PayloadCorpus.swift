/// Payloads by rule: each key that Apple documents with values of each type. What is expected is a
/// lookup in the tables here, which are written from Apple's pages, not from the code under test.
enum PayloadCorpus {
  /// A type in Apple's words.
  enum Kind {
    case string, number, count, flag, strings, object
  }

  /// What a push comes to, and whether the key is named in what is said about it.
  enum Outcome {
    case shown, shownAndSaid
    case nothing, nothingAndSaid
    /// With the place of the key.
    case refused
    /// With another place, or that of the object around it.
    case refusedForAnother
    /// All items of the topic go.
    case cleared
  }

  struct Value {
    var json: String
    var kinds: Set<Kind>
    var isBlank = false
  }

  static let values = [
    Value(json: "null", kinds: []), Value(json: "true", kinds: [.flag]), Value(json: "false", kinds: [.flag]),
    Value(json: "0", kinds: [.number, .count, .flag]), Value(json: "1", kinds: [.number, .count, .flag]),
    Value(json: "1e3", kinds: [.number, .count, .flag]), Value(json: "-1", kinds: [.number, .flag]),
    Value(json: "1.5", kinds: [.number, .flag]), Value(json: "1e400", kinds: [.number, .flag]),
    Value(json: "9223372036854775808", kinds: [.number, .flag]),
    Value(json: #""""#, kinds: [.string], isBlank: true),
    Value(json: #"" \n""#, kinds: [.string], isBlank: true),
    Value(json: #""\u200f\ufeff""#, kinds: [.string], isBlank: true), Value(json: #""1""#, kinds: [.string]),
    Value(json: #""سلام""#, kinds: [.string]), Value(json: "[]", kinds: [.strings]),
    Value(json: #"["a",1]"#, kinds: [.strings]), Value(json: #"[null,{},"b"]"#, kinds: [.strings]),
    Value(json: "{}", kinds: [.object], isBlank: true),
    Value(json: #"{"a":{"b":[[]]}}"#, kinds: [.object], isBlank: true),
  ]

  /// A key: the types that Apple documents, and what pushes come to with values of them, with those
  /// of them that nothing can be seen of, with others, and with none.
  struct Field {
    var place: String
    var kinds: Set<Kind>
    var right = Outcome.shown
    var blank: Outcome?
    var wrong = Outcome.shownAndSaid
    var missing = Outcome.shown
    var exceptions: [String: Outcome] = [:]

    func outcome(_ value: Value) -> Outcome {
      if let exception = exceptions[value.json] { return exception }
      if value.json == "null" { return missing }
      guard !kinds.isDisjoint(with: value.kinds) else { return wrong }
      return value.isBlank ? blank ?? right : right
    }
  }

  /// Members of `aps` and of `aps.alert`, as JSON.
  struct Base {
    var aps: [String: String] = [:]
    var alert: [String: String]?
    var fields: [Field]

    func body(_ place: String, _ json: String) -> String {
      var (aps, alert) = (aps, alert)
      if place.hasPrefix("alert.") {
        alert?[String(place.dropFirst(6))] = json
      } else {
        aps[place] = json
        if place == "alert" { alert = nil }
      }
      if let alert { aps["alert"] = Self.object(alert) }
      return Self.object(["aps": Self.object(aps)])
    }

    private static func object(_ members: [String: String]) -> String {
      "{" + members.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
        + "}"
    }
  }

  static let bases = [
    // An alert that is shown whatever else is in it.
    Base(
      alert: ["title": #""T""#, "body": #""B""#],
      fields: [
        Field(place: "badge", kinds: [.count]), Field(place: "sound", kinds: [.string, .object]),
        Field(place: "category", kinds: [.string]), Field(place: "thread-id", kinds: [.string]),
        Field(place: "target-content-id", kinds: [.string]),
        Field(place: "filter-criteria", kinds: [.string]),
        Field(place: "interruption-level", kinds: [.string], right: .shownAndSaid),
        Field(place: "event", kinds: [.string], right: .shownAndSaid),
        Field(place: "content-available", kinds: [.flag]), Field(place: "mutable-content", kinds: [.flag]),
        Field(place: "content-changed", kinds: [.flag]), Field(place: "relevance-score", kinds: [.number]),
        Field(place: "timestamp", kinds: [.number]), Field(place: "stale-date", kinds: [.number]),
        Field(place: "dismissal-date", kinds: [.number]), Field(place: "content-state", kinds: [.object]),
        Field(place: "attributes", kinds: [.object]), Field(place: "attributes-type", kinds: [.string]),
        Field(place: "alert.title", kinds: [.string]), Field(place: "alert.subtitle", kinds: [.string]),
        Field(place: "alert.body", kinds: [.string]), Field(place: "alert.launch-image", kinds: [.string]),
        Field(place: "alert.loc-key", kinds: [.string]), Field(place: "alert.loc-args", kinds: [.strings]),
        Field(place: "alert.title-loc-key", kinds: [.string]),
        Field(place: "alert.title-loc-args", kinds: [.strings]),
        // There is no subtitle, so the key is shown in its place.
        Field(place: "alert.subtitle-loc-key", kinds: [.string], right: .shownAndSaid, blank: .shown),
        Field(place: "alert.subtitle-loc-args", kinds: [.strings]),
      ]),
    // A push without a text.
    Base(fields: [
      Field(
        place: "alert", kinds: [.string, .object], blank: .refused, wrong: .refused, missing: .nothingAndSaid),
      Field(
        place: "badge", kinds: [.count], right: .nothing, wrong: .nothingAndSaid, missing: .nothing,
        exceptions: ["0": .cleared]),
      Field(
        place: "content-available", kinds: [.flag], right: .nothing, wrong: .nothingAndSaid, missing: .nothing
      ),
      Field(place: "thread-id", kinds: [.string], right: .nothing, wrong: .nothingAndSaid, missing: .nothing),
      Field(place: "event", kinds: [.string], right: .refused, wrong: .refused, missing: .nothing),
    ]),
    // An alert whose only text it is.
    Base(
      alert: [:],
      fields: [
        Field(
          place: "alert.body", kinds: [.string], blank: .refusedForAnother, wrong: .refused,
          missing: .refusedForAnother),
        Field(
          place: "alert.title", kinds: [.string], blank: .refusedForAnother, wrong: .refused,
          missing: .refusedForAnother),
        Field(
          place: "alert.loc-key", kinds: [.string], right: .shownAndSaid, blank: .refusedForAnother,
          wrong: .refused, missing: .refusedForAnother),
        Field(
          place: "alert.loc-args", kinds: [.strings], right: .refusedForAnother, wrong: .refused,
          missing: .refusedForAnother),
      ]),
    // An update of a Live Activity.
    Base(
      aps: ["event": #""update""#, "timestamp": "5", "content-state": #"{"status":"s"}"#],
      fields: [
        // The state is shown, not the alert.
        Field(place: "alert", kinds: [.string, .object], right: .shownAndSaid),
        Field(place: "event", kinds: [.string], right: .refused, wrong: .refused, missing: .nothing),
        Field(place: "badge", kinds: [.count]), Field(place: "dismissal-date", kinds: [.number]),
        Field(place: "relevance-score", kinds: [.number]),
        // Without a time the state counts as the newest.
        Field(
          place: "timestamp", kinds: [.number], missing: .shownAndSaid,
          exceptions: ["0": .shownAndSaid, "-1": .shownAndSaid]),
        // One that has passed is shown as stale.
        Field(
          place: "stale-date", kinds: [.number],
          exceptions: ["1": .shownAndSaid, "1e3": .shownAndSaid, "1.5": .shownAndSaid]),
        Field(place: "content-state", kinds: [.object], blank: .refused, wrong: .refused, missing: .refused),
      ]),
  ]

  struct Row {
    var json: String
    var place: String
    var outcome: Outcome
  }

  static let rows = bases.flatMap { base in
    base.fields.flatMap { field in
      values.map { value in
        Row(
          json: base.body(field.place, value.json), place: "aps.\(field.place)", outcome: field.outcome(value)
        )
      }
    }
  }
}
