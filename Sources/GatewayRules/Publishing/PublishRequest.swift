import Digests

/// A message for a topic over plain HTTP, as ntfy's clients send it: `curl -d text HOST/TOPIC`, as
/// JSON: `curl -d '{"topic":…,"message":…}' HOST/`, or with parameters of the address.
/// Source: docs.ntfy.sh/publish.
package struct PublishRequest: Hashable, Sendable {
  /// The `event` of ntfy's messages.
  package enum Event: String, Hashable, Sendable {
    case message
    /// The message was read.
    case clear = "message_clear"
    case delete = "message_delete"
  }

  /// Bytes of a text; the rest of a longer one is cut off.
  package static let textLimitBytes = 4096
  /// Bytes of a body in JSON.
  package static let jsonLimitBytes = 131_072
  /// As ntfy does it: a notification is never without a text.
  private static let emptyText = "triggered"
  /// Bytes of a title, and of all tags together; the rest is left out.
  static let titleLimitBytes = 1024
  static let tagsLimitBytes = 512
  /// How long ntfy keeps a message for its subscribers.
  static let keepSeconds: Int64 = 43_200

  package var event: Event
  package var topic: String
  /// The name of the item that it replaces or removes. nil: it is named by its own id.
  package var sequence: String?
  package var title = ""
  package var text = ""
  /// 1...5; nil: not given, as 3.
  package var priority: Int?
  package var tags: [String] = []
  package var actions: [MessageAction] = []
  /// When it is due by the calendar; nil: now.
  package var due: WallTime?
  /// Whether ntfy would keep it for its subscribers.
  package var isKept = true
  /// Members of ntfy's answer that have no effect here.
  package var echo: [String: JSONValue] = [:]
  /// Differences from ntfy, for the answer.
  package var notes: [String] = []
  /// The digest of the sender's name of this request.
  package var messageID: String?

  /// A message that a script sends.
  /// - Parameters:
  ///   - topic: nil: it is in the body, in JSON.
  ///   - body: at most `jsonLimitBytes` and one byte of it.
  ///   - calendar: that of a time zone of IANA; without a name, that of this computer.
  package init(
    topic: String?, sequence: String?, _ parameters: PublishParameters, body: [UInt8],
    calendar: (_ zone: String?) -> LocalCalendar?
  ) throws(PublishProblem) {
    event = .message
    var parameters = parameters
    if let topic {
      self.topic = topic
      try readText(parameters, body)
    } else {
      let (topic, message) = try parameters.add(json: body)
      guard let topic, PublishRoute.isName(topic) else {
        throw PublishProblem(.topic, "'topic' is not 1 to 64 letters, digits, - and _")
      }
      self.topic = topic
      try readText(parameters, Array((message ?? "").utf8))
    }
    self.sequence = sequence ?? parameters[.sequence]
    guard self.sequence.map(PublishRoute.isName) ?? true else {
      throw PublishProblem(.sequence, "the sequence is not 1 to 64 letters, digits, - and _")
    }
    guard let priority = Self.priority(parameters[.priority]) else {
      throw PublishProblem(.priority, "the priority is not 1 to 5, min, low, default, high, max or urgent")
    }
    self.priority = priority > 0 ? priority : nil
    readTags(parameters[.tags] ?? "")
    actions =
      try parameters[.actions].map { text throws(PublishProblem) in try MessageAction.parse(text) } ?? []
    isKept = parameters.isTrue(.cache) ?? true
    try readDelay(parameters, calendar)
    messageID = Self.messageID(parameters)
    readDecoration(parameters)
  }

  /// The removal of an item.
  package init(_ event: Event, topic: String, sequence: String, _ parameters: PublishParameters) {
    (self.event, self.topic, self.sequence) = (event, topic, sequence)
    messageID = Self.messageID(parameters)
  }

  /// A delayed message that was kept.
  init(topic: String, sequence: String?, title: String, text: String) {
    event = .message
    (self.topic, self.sequence, self.title, self.text) = (topic, sequence, title, text)
  }

  private static func messageID(_ parameters: PublishParameters) -> String? {
    parameters[.messageID].map { hexText(SHA256.digest(Array($0.utf8))) }
  }

  /// nil: no priority; 0: none is given.
  static func priority(_ name: String?) -> Int? {
    switch name?.lowercased() {
    case nil: 0
    case "1", "min": 1
    case "2", "low": 2
    case "3", "default": 3
    case "4", "high": 4
    case "5", "max", "urgent": 5
    case _: nil
    }
  }

  // MARK: The text

  /// Finds the text, in ntfy's order; refuses parameters without which it would be incomplete.
  private mutating func readText(_ parameters: PublishParameters, _ body: [UInt8]) throws(PublishProblem) {
    if parameters[.email] != nil { throw PublishProblem(.noEmail, "e-mail is not supported") }
    if parameters[.call] != nil { throw PublishProblem(.noCalls, "phone calls are not supported") }
    if parameters[.pollID] != nil {
      throw PublishProblem(.unsupported, "poll requests are not supported: the message is on another server")
    }
    for (parameter, code) in [
      (PublishParameter.attach, PublishProblem.Code.attachmentAddress), (.icon, .icon),
    ] {
      guard let address = parameters[parameter]?.lowercased() else { continue }
      guard address.hasPrefix("http://") || address.hasPrefix("https://") else {
        throw PublishProblem(code, "'\(parameter.rawValue)' does not begin with http:// or https://")
      }
    }
    let hasAddress = parameters[.attach] != nil
    guard hasAddress || parameters[.filename] == nil else {
      throw PublishProblem(.noAttachments, "attachments are not supported: the display shows texts only")
    }
    if parameters.text(["content-encoding"])?.lowercased() == "aes128gcm" {
      throw PublishProblem(.unsupported, "the message is encrypted; the display shows texts only")
    }
    title = cut(Array((parameters[.title] ?? "").utf8), to: Self.titleLimitBytes, "title") ?? ""
    let message = parameters[.message]
    if !hasAddress, let template = try MessageTemplate(named: parameters[.template]) {
      let (title, text) = try template.render(body)
      self.title = cut(Array(title.utf8), to: Self.titleLimitBytes, "title") ?? ""
      self.text = cut(Array(text.utf8), to: Self.textLimitBytes, "message") ?? ""
      if self.text.isEmpty { self.text = Self.emptyText }
      let others = [PublishParameter.title, .message].filter { parameters[$0] != nil }.map(\.rawValue)
      if !others.isEmpty {
        notes.append("ignored: \(others.joined(separator: ", ")), because the template makes them")
      }
      return
    }
    guard let own = cut(body, to: Self.textLimitBytes, "message") else {
      throw hasAddress
        ? PublishProblem(.notUTF8, "the message is not UTF-8")
        : PublishProblem(.noAttachments, "the message is not UTF-8; attachments are not supported")
    }
    text =
      body.isEmpty
      ? cut(Array((message ?? "").withLineEnds.utf8), to: Self.textLimitBytes, "message") ?? "" : own.trimmed
    if !body.isEmpty, message != nil { notes.append("ignored: message, because the body has the text") }
    if text.isEmpty {
      text = hasAddress ? "You received a file: \(Self.fileName(parameters))" : Self.emptyText
    }
  }

  /// The text within its limit, cut between two characters of Unicode; nil: it is not UTF-8.
  private mutating func cut(_ bytes: [UInt8], to limitBytes: Int, _ name: String) -> String? {
    guard bytes.count > limitBytes else { return String(validating: bytes, as: UTF8.self) }
    let end = bytes[...limitBytes].lastIndex { $0 & 0xC0 != 0x80 } ?? 0
    notes.append("cut: \(name), to \(limitBytes) bytes")
    return String(validating: bytes[..<end], as: UTF8.self)
  }

  private static func fileName(_ parameters: PublishParameters) -> String {
    if let name = parameters[.filename] { return name }
    let path = (parameters[.attach] ?? "").split(separator: "?").first?.split(separator: "/") ?? []
    return path.count > 2 ? path.last.map(String.init) ?? "" : "attachment"
  }

  // MARK: Other parameters

  private mutating func readTags(_ text: String) {
    var leftBytes = Self.tagsLimitBytes
    for tag in text.split(separator: ",").map({ String($0).trimmed }) where !tag.isEmpty {
      leftBytes -= tag.utf8.count
      guard leftBytes >= 0 else { return notes.append("cut: tags, to \(Self.tagsLimitBytes) bytes") }
      tags.append(tag)
    }
  }

  private mutating func readDelay(
    _ parameters: PublishParameters, _ calendar: (String?) -> LocalCalendar?
  ) throws(PublishProblem) {
    guard let text = parameters[.delay] else { return }
    guard isKept else {
      throw PublishProblem(.delayWithoutCache, "a delayed message cannot be one that is not kept (cache=no)")
    }
    guard let calendar = calendar(parameters[.timezone]) else {
      throw PublishProblem(.delayUnreadable, "the time zone is unknown; use a name such as Europe/Berlin")
    }
    due = try PublishDelay.due(text, in: calendar)
  }

  /// Reads parameters that only a phone can show.
  private mutating func readDecoration(_ parameters: PublishParameters) {
    for parameter in [PublishParameter.click, .icon] {
      echo[parameter.rawValue] = parameters[parameter].map { .string($0) }
    }
    if let address = parameters[.attach] {
      echo["attachment"] = .object(["name": .string(Self.fileName(parameters)), "url": .string(address)])
    }
    let isMarkdown =
      parameters.isTrue(.markdown) ?? false
      || parameters.text(["content-type"])?.lowercased() == "text/markdown"
    if isMarkdown { echo["content_type"] = .string("text/markdown") }
    let given = [PublishParameter.click, .icon, .attach, .filename, .cache, .firebase, .unifiedPush].filter {
      parameters[$0] != nil
    }
    let ignored = given.map(\.rawValue) + (isMarkdown ? ["markdown"] : [])
    if !ignored.isEmpty { notes.append("ignored: \(ignored.joined(separator: ", "))") }
    let repeated = parameters.repeated.map(\.rawValue)
    if !repeated.isEmpty { notes.append("ignored: other values of \(repeated.joined(separator: ", "))") }
    let others = Set(actions.filter { !$0.isButton }.map(\.kind.rawValue)).sorted()
    if !others.isEmpty { notes.append("no button: \(others.joined(separator: ", "))") }
  }
}
