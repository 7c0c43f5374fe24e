import Digests

/// Where answers go. Only the configuration names it: a push never does.
package struct Callback: Hashable, Sendable {
  package var address: CallbackAddress
  /// File with the secret of the signature.
  package var secretPath: String?
  /// File with the authority of the certificate, in PEM. nil: those of the system.
  package var authorityPath: String?
  /// nil: `Decision.content`.
  package var body: JSONValue?
  /// Asked after an accepted answer, so that the sender clears its other devices.
  package var clearAddress: CallbackAddress?

  package init(address: CallbackAddress, body: JSONValue? = nil, clearAddress: CallbackAddress? = nil) {
    self.address = address
    self.body = body
    self.clearAddress = clearAddress
  }

  init(_ value: JSONValue, _ place: String) throws(InputProblem) {
    var reader = try MemberReader(value, place)
    guard let url = try reader.string("url") else { throw InputProblem("\(place) needs a 'url'") }
    address = try CallbackAddress(parsing: url, "'url' of \(place)")
    secretPath = try reader.string("secret")
    authorityPath = try reader.string("authority")
    body = reader.value("body")
    if let url = try reader.string("clear") {
      clearAddress = try CallbackAddress(parsing: url, "'clear' of \(place)")
    }
    try reader.end()
  }

  /// The body of a request. In a template, `{name}` stands for a field of the payload, or for
  /// `action`, `approved`, `id`, `push`, `topic` or `at`.
  package func content(of decision: Decision) -> JSONValue {
    guard decision.state != .clearing else {
      return .object([
        "type": .string("clear"), "id": .string(decision.id),
        "fields": .object((decision.question?.fields ?? [:]).mapValues { .string($0) }),
      ])
    }
    guard let body else { return decision.content }
    var values: [String: JSONValue] = (decision.question?.fields ?? [:]).mapValues { .string($0) }
    values["id"] = .string(decision.id)
    values["push"] = .string(decision.question?.pushID ?? "")
    values["topic"] = .string(decision.question?.topic ?? "")
    values["action"] = .string(decision.answer?.name ?? "")
    values["approved"] = decision.answer?.approved.map { .bool($0) } ?? .null
    values["at"] = .whole(decision.at.seconds)
    return Self.filled(body, values)
  }

  /// Values replace places in strings only, so that no value can change the structure.
  private static func filled(_ template: JSONValue, _ values: [String: JSONValue]) -> JSONValue {
    switch template {
    case .null, .bool, .number, .longNumber: template
    case .array(let elements): .array(elements.map { filled($0, values) })
    case .object(let members): .object(members.mapValues { filled($0, values) })
    case .string(let text): filled(text[...], values)
    }
  }

  private static func filled(_ text: Substring, _ values: [String: JSONValue]) -> JSONValue {
    var result = ""
    var rest = text
    while let open = rest.firstIndex(of: "{"), let close = rest[open...].firstIndex(of: "}") {
      let name = String(rest[rest.index(after: open)..<close])
      // A place that is the whole string keeps the kind of the value.
      if rest.count == text.count, open == rest.startIndex, rest.index(after: close) == rest.endIndex {
        return values[name] ?? .null
      }
      result += rest[..<open]
      result += values[name]?.text ?? ""
      rest = rest[rest.index(after: close)...]
    }
    return .string(result + rest)
  }

  /// The value of `Notibot-Signature`.
  package static func signature(of body: [UInt8], secret: [UInt8], at: WallTime) -> String {
    let code = SHA256.hmac(key: secret, message: Array("\(at.seconds).".utf8) + body)
    return "t=\(at.seconds),v1=\(hexText(code))"
  }
}

/// An address of HTTP over TLS; plain HTTP on this computer only.
package struct CallbackAddress: Hashable, Sendable {
  package var isTLS: Bool
  package var host: String
  package var port: Int
  /// Path and query, from the slash.
  package var path: String

  /// Bytes of an address, at most.
  package static let limitBytes = 2048

  package init(parsing text: String, _ place: String) throws(InputProblem) {
    func problem(_ words: String) -> InputProblem { InputProblem("\(place) \(words)") }
    guard text.utf8.count <= Self.limitBytes, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw problem("is not an address: it has a space, a character that is not ASCII, or too many")
    }
    let rest: Substring
    if text.hasPrefix("https://") {
      (isTLS, rest) = (true, text.dropFirst(8))
    } else if text.hasPrefix("http://") {
      (isTLS, rest) = (false, text.dropFirst(7))
    } else {
      throw problem("begins neither with https:// nor with http://")
    }
    let authority = rest.prefix { !"/?#".contains($0) }
    let tail = rest.dropFirst(authority.count)
    guard !authority.contains("@"), !tail.contains("#") else {
      throw problem("has a user or a fragment; neither is sent")
    }
    path = tail.hasPrefix("/") ? String(tail) : "/" + tail
    var name = authority
    port = isTLS ? 443 : 80
    let afterBracket = authority.hasPrefix("[") ? authority.firstIndex(of: "]") : authority.startIndex
    guard let afterBracket else { throw problem("has no valid host") }
    if let colon = authority[afterBracket...].lastIndex(of: ":") {
      guard let number = Int(authority[authority.index(after: colon)...]), (1...65_535).contains(number)
      else { throw problem("has no valid port") }
      port = number
      name = authority[..<colon]
    }
    if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
    guard !name.isEmpty, name.utf8.allSatisfy({ Self.isOfHost($0) }) else {
      throw problem("has no valid host")
    }
    host = String(name)
    guard isTLS || ["127.0.0.1", "::1", "localhost"].contains(host) else {
      throw problem("is plain HTTP to another computer; use https")
    }
  }

  /// The value of the header `host`.
  package var hostField: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (isTLS ? 443 : 80) ? name : "\(name):\(port)"
  }

  /// The same server with another path.
  package func appending(_ path: String) -> CallbackAddress {
    var address = self
    address.path = (self.path.hasSuffix("/") ? String(self.path.dropLast()) : self.path) + path
    return address
  }

  private static func isOfHost(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: ":"):
      true
    case _: false
    }
  }
}

/// What an HTTP request came to.
package enum CallResult: Hashable, Sendable {
  case status(Int, body: [UInt8])
  /// No connection, no valid certificate, no answer in time.
  case noAnswer
}

/// What the status of an answer means for what was sent.
package enum CallVerdict: Hashable, Sendable {
  case accepted
  /// Another answer came first, or none is wanted any more.
  case late
  case refused
  /// Worth another attempt. A redirection is not followed: it would let the server choose where
  /// secrets go.
  case again

  package init(_ result: CallResult) {
    switch result {
    case .noAnswer: self = .again
    case .status(let status, _):
      switch status {
      case 200...299: self = .accepted
      case 409, 410: self = .late
      case 408, 425, 429: self = .again
      case 400...499: self = .refused
      case _: self = .again
      }
    }
  }
}
