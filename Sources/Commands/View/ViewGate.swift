import NotibotProtocol

/// Decides which requests the live page answers: a value, without I/O. Other users of the machine
/// do not know the token; `LoopbackGate` refuses other pages of the browser.
struct ViewGate: Sendable {
  enum Route: Equatable, Sendable {
    case page, script, style, events, command
  }

  enum Decision: Equatable, Sendable {
    case admitted(Route)
    /// With this status.
    case refused(Int, reason: String)
  }

  /// The commands that the page is permitted to send.
  static let commands: Set<String> = ["dismiss", "action", "reboot", "unplug", "plug", "clear"]

  let port: Int
  let token: String

  /// 128 random bits as 32 hexadecimal digits.
  static func randomToken() -> String {
    (0..<16).map { _ in
      let byte = UInt8.random(in: .min ... .max)
      return String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
    }.joined()
  }

  /// The address of the page.
  var address: String { "http://127.0.0.1:\(port)/\(token)/" }

  /// Whether a request is answered, and what it asks for.
  /// - Parameter values: the values of all header fields with a name.
  func decide(method: String, path: String, values: (String) -> [String]) -> Decision {
    if let problem = LoopbackGate(port: port, hasPages: true).problem(values) {
      return .refused(403, reason: problem)
    }
    let parts = path.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].isEmpty, isToken(parts[1]) else {
      return .refused(404, reason: "not found")
    }
    let route: Route
    switch parts[2] {
    case "": route = .page
    case "view.js": route = .script
    case "view.css": route = .style
    case "events": route = .events
    case "command": route = .command
    case _: return .refused(404, reason: "not found")
    }
    let methods =
      switch route {
      case .page, .script, .style: ["GET", "HEAD"]
      case .events: ["GET"]
      case .command: ["POST"]
      }
    guard methods.contains(method) else { return .refused(405, reason: "wrong method") }
    if route == .command {
      guard values("Origin").count == 1 else { return .refused(403, reason: "no Origin") }
      guard values("Content-Type") == ["application/json"] else { return .refused(415, reason: "not JSON") }
    }
    return .admitted(route)
  }

  /// Compares in a time that does not depend on where the first difference is.
  private func isToken(_ text: Substring) -> Bool {
    guard text.utf8.count == token.utf8.count else { return false }
    return zip(text.utf8, token.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
