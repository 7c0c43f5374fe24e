import NotibotProtocol

/// Reads the members of an object, and refuses keys that nobody asked for.
struct MemberReader {
  private let place: String
  private var members: [String: JSONValue]

  init(_ value: JSONValue?, _ place: String) throws(InputProblem) {
    guard let object = value?.object else { throw InputProblem("\(place) is not an object") }
    members = object
    self.place = place
  }

  mutating func value(_ key: String) -> JSONValue? { members.removeValue(forKey: key) }

  mutating func string(_ key: String) throws(InputProblem) -> String? {
    guard let value = value(key) else { return nil }
    guard let text = value.string else { throw problem(key, "a string") }
    return text
  }

  mutating func bool(_ key: String) throws(InputProblem) -> Bool? {
    guard let value = value(key) else { return nil }
    guard let claim = value.bool else { throw problem(key, "true or false") }
    return claim
  }

  mutating func whole(_ key: String, _ range: ClosedRange<Int64>) throws(InputProblem) -> Int64? {
    guard let value = value(key) else { return nil }
    guard let number = value.whole, range.contains(number) else {
      throw problem(key, "a whole number, \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  mutating func strings(_ key: String) throws(InputProblem) -> [String]? {
    guard let value = value(key) else { return nil }
    guard let array = value.array, array.allSatisfy({ $0.string != nil }) else {
      throw problem(key, "an array of strings")
    }
    return array.compactMap(\.string)
  }

  mutating func array(_ key: String) throws(InputProblem) -> [JSONValue] {
    guard let value = value(key) else { return [] }
    guard let array = value.array else { throw problem(key, "an array") }
    return array
  }

  mutating func object(_ key: String) throws(InputProblem) -> [String: JSONValue] {
    guard let value = value(key) else { return [:] }
    guard let object = value.object else { throw problem(key, "an object") }
    return object
  }

  /// Refuses a key that was not read: it would be a typing error without effect.
  func end() throws(InputProblem) {
    if let key = members.keys.min() { throw InputProblem("\(place) has an unknown key '\(key)'") }
  }

  func problem(_ key: String, _ expected: String) -> InputProblem {
    InputProblem("'\(key)' of \(place) is not \(expected)")
  }
}

extension TopicProfile {
  /// Bytes of a profile file, at most.
  package static let fileLimitBytes = 65_536

  /// Reads a profile file. Throws with the key that is wrong.
  package init(parsing bytes: [UInt8]) throws(InputProblem) {
    let root: JSONValue
    do {
      root = try JSONValue(parsing: bytes, limitBytes: Self.fileLimitBytes)
    } catch {
      throw InputProblem(error.description)
    }
    var reader = try MemberReader(root, "the profile")
    guard let name = try reader.string("name"), let app = try reader.string("app") else {
      throw InputProblem("the profile needs 'name' and 'app'")
    }
    self.init(name: name, app: app)
    topics = try reader.strings("topics") ?? []
    for topic in topics {
      guard let (words, remedy) = Topic.problem(topic) else { continue }
      throw InputProblem("the topic '\(topic)' can never match: \(words); \(remedy)")
    }
    groupFields = try reader.strings("groupFields") ?? []
    groupNames = try reader.strings("groupNames") ?? []
    lifetimeSeconds = try reader.whole("lifetimeSeconds", 1...31_536_000)
    oncePerDay = try reader.bool("oncePerDay") ?? false
    isReadTogether = try reader.bool("readTogether") ?? false
    allowsCritical = try reader.bool("allowsCritical") ?? false
    for (key, value) in try reader.object("types") {
      guard let category = value.string else { throw reader.problem("types", "an object of strings") }
      types[key] = category
    }
    for value in try reader.array("clears") { clears.append(try Identifier(value, "'clears'")) }
    for (key, value) in try reader.object("categories") {
      categories[key] = try Category(value, "the category '\(key)'")
    }
    if let value = reader.value("activity") { activity = try ActivityFields(value) }
    try reader.end()
  }
}

extension TopicProfile.Identifier {
  init(_ value: JSONValue, _ place: String) throws(InputProblem) {
    var reader = try MemberReader(value, place)
    guard let field = try reader.string("field") else {
      throw InputProblem("\(place) needs a 'field'")
    }
    self.field = field
    prefix = try reader.string("prefix") ?? ""
    try reader.end()
  }

  /// The name that the payload gives, or nil.
  func value(in payload: JSONValue) -> String? {
    guard let text = payload.value(at: field)?.text, !DisplayText.isBlank(text) else { return nil }
    return prefix + text
  }
}

extension TopicProfile.Category {
  init(_ value: JSONValue, _ place: String) throws(InputProblem) {
    var reader = try MemberReader(value, place)
    self.init()
    if let name = try reader.string("level") {
      guard let known = Self.levels[name] else {
        throw reader.problem("level", "passive, active, time-sensitive or critical")
      }
      level = known
    }
    actions = try reader.strings("actions") ?? []
    guard actions.count <= NotificationLimits.actions else {
      throw reader.problem("actions", "an array of at most \(NotificationLimits.actions) labels")
    }
    for value in try reader.array("answers") { answers.append(try Answer(value)) }
    guard answers.isEmpty || actions.isEmpty, answers.count <= NotificationLimits.actions else {
      throw reader.problem(
        "answers", "an array of at most \(NotificationLimits.actions) objects, without 'actions'")
    }
    let labels = answers.map { DisplayText.clean($0.label) }
    guard Set(DisplayText.shownLabels(labels)).count == labels.count else {
      throw reader.problem(
        "answers", "an array of labels that differ on the display, in \(NotificationLimits.actionBytes) bytes"
      )
    }
    callback = try reader.string("callback")
    switch reader.value("dismissal") {
    case nil, .bool(false): break
    case .bool(true): dismissal = Answer(dismissal: Answer.dismissActionName)
    case .string(let name) where !name.isEmpty: dismissal = Answer(dismissal: name)
    case .some: throw reader.problem("dismissal", "true, or the name of an action")
    }
    fields = (try reader.strings("fields") ?? []).map { TopicProfile.Field($0) }
    guard fields.count <= Self.fieldsLimit else {
      throw reader.problem("fields", "an array of at most \(Self.fieldsLimit) paths")
    }
    isSilent = try reader.bool("silent") ?? false
    defaultTitle = try reader.string("title")
    defaultText = try reader.string("text")
    textLimit = try reader.whole("textLimit", 1...4096).map { Int($0) }
    summary = try reader.string("summary")
    if let value = reader.value("identifier") {
      identifier = try TopicProfile.Identifier(value, "'identifier'")
    }
    try reader.end()
  }

  /// Fields that an answer repeats, at most.
  private static let fieldsLimit = 16

  private static let levels: [String: NotificationDetails.Level] = [
    "passive": .passive, "active": .active, "time-sensitive": .timeSensitive, "critical": .critical,
  ]
}

extension Answer {
  init(_ value: JSONValue) throws(InputProblem) {
    var reader = try MemberReader(value, "an element of 'answers'")
    guard let label = try reader.string("label"), let name = try reader.string("name") else {
      throw InputProblem("an element of 'answers' needs a 'label' and a 'name'")
    }
    self.init(
      name: name, label: label, approved: try reader.bool("approved"),
      done: try reader.string("done") ?? label, queued: try reader.string("queued") ?? "\(label): queued",
      needsWholeText: try reader.bool("needsWholeText") ?? true)
    let isConfirmed = try reader.bool("confirm") ?? false
    let prompt = try reader.string("prompt")
    guard isConfirmed || prompt == nil else {
      throw InputProblem("an element of 'answers' has a 'prompt' without 'confirm'")
    }
    if isConfirmed { self.prompt = prompt ?? "Press \(label) again to confirm" }
    try reader.end()
  }
}

extension TopicProfile.ActivityFields {
  init(_ value: JSONValue) throws(InputProblem) {
    var reader = try MemberReader(value, "'activity'")
    self.init()
    title = try reader.string("title") ?? title
    completed = try reader.string("completed") ?? completed
    total = try reader.string("total") ?? total
    task = try reader.string("task") ?? task
    operation = try reader.string("operation") ?? operation
    try reader.end()
  }
}
