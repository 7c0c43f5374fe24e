/// A refusal of a script's request, in ntfy's form. Its clients act on `code` and `http`, and some
/// of them fail on other keys. Source: docs.ntfy.sh/publish.
package struct PublishProblem: Error, Hashable, Sendable {
  /// ntfy's codes: a status of HTTP and two digits.
  package enum Code: Int, Hashable, Sendable {
    case unsupported = 40000
    case noEmail = 40001
    case delayWithoutCache = 40002
    case delayUnreadable = 40004
    case delayTooSmall = 40005
    case delayTooLarge = 40006
    case priority = 40007
    case since = 40008
    case topic = 40009
    case topicReserved = 40010
    case notUTF8 = 40011
    case attachmentAddress = 40013
    case noAttachments = 40014
    case actions = 40018
    case icon = 40021
    case json = 40024
    case noCalls = 40032
    case templateNotJSON = 40042
    case templateInline = 40043
    case templateFailed = 40045
    case templateUnknown = 40047
    case sequence = 40049
    case webPage = 40301
    case notFound = 40401
    case tooLarge = 41301
    case jsonTooLarge = 41303
    case tooMany = 42901
    case tooManyDelayed = 42908
    case unavailable = 50301

    /// The part of ntfy's page on publishing that describes it.
    fileprivate var anchor: String? {
      switch self {
      case .noEmail: "e-mail-notifications"
      case .delayWithoutCache, .delayUnreadable, .delayTooSmall, .delayTooLarge: "scheduled-delivery"
      case .priority: "message-priority"
      case .attachmentAddress, .noAttachments, .tooLarge: "attachments"
      case .actions: "action-buttons"
      case .icon: "icons"
      case .json: "publish-as-json"
      case .noCalls: "phone-calls"
      case .templateNotJSON, .templateInline, .templateFailed, .templateUnknown: "message-templating"
      case .sequence: "updating-deleting-notifications"
      case .jsonTooLarge, .tooMany, .tooManyDelayed: "limitations"
      case .unsupported, .since, .topic, .topicReserved, .notUTF8, .webPage, .notFound, .unavailable: nil
      }
    }
  }

  package var code: Code
  /// For people and for the list of pushes: without a text of the message.
  package var text: String

  package init(_ code: Code, _ text: String) {
    self.code = code
    self.text = text
  }

  /// The refusal of a message by the intake; nil: it is accepted.
  package init?(_ answer: PushAnswer, _ outcome: IntakeOutcome?) {
    switch answer.reason {
    case nil: return nil
    case .tooManyRequests where outcome == .tooManyDelayed:
      self.init(.tooManyDelayed, "too many delayed messages are waiting; delete some, or wait")
    case .tooManyRequests: self.init(.tooMany, "too many messages for this topic; wait, and send it again")
    case .some(let reason):
      self.init(.unavailable, "\(answer.detail ?? reason.rawValue); wait, and send it again")
    }
  }

  package var status: Int { code.rawValue / 100 }

  /// The body of the answer.
  package var body: String {
    var members: [String: JSONValue] = [
      "code": .whole(code.rawValue), "http": .whole(status), "error": .string(text),
    ]
    members["link"] = code.anchor.map { .string("https://docs.ntfy.sh/publish/#\($0)") }
    return JSONValue.object(members).line + "\n"
  }
}
