/// Decides which requests the live page answers: a value, without I/O.
///
/// Other users of the machine and other pages of the browser can reach a port on loopback. The
/// former do not know the token; the latter cannot forge `Host` and `Origin`.
struct ViewGate: Sendable {
  enum Route: Equatable, Sendable {
    case page, script, style, events, command
  }

  /// The status of a refusal.
  struct Refusal: Error, Equatable {
    var status: Int
    var reason: String
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

  /// What a request asks for.
  /// - Parameter values: the values of all header fields with a name.
  func route(method: String, path: String, values: (String) -> [String]) throws(Refusal) -> Route {
    let hosts = ["127.0.0.1:\(port)", "localhost:\(port)"]
    let host = values("Host")
    guard host.count == 1, hosts.contains(host[0].lowercased()) else {
      throw Refusal(status: 403, reason: "unknown Host")
    }
    let origin = values("Origin")
    guard origin.allSatisfy({ hosts.map { "http://" + $0 }.contains($0) }) else {
      throw Refusal(status: 403, reason: "another Origin")
    }
    guard values("Sec-Fetch-Site").allSatisfy({ ["same-origin", "none"].contains($0) }) else {
      throw Refusal(status: 403, reason: "a request of another site")
    }
    let parts = path.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].isEmpty, isToken(parts[1]) else {
      throw Refusal(status: 404, reason: "not found")
    }
    let route: Route
    switch parts[2] {
    case "": route = .page
    case "view.js": route = .script
    case "view.css": route = .style
    case "events": route = .events
    case "command": route = .command
    case _: throw Refusal(status: 404, reason: "not found")
    }
    guard method == (route == .command ? "POST" : "GET") else {
      throw Refusal(status: 405, reason: "wrong method")
    }
    if route == .command {
      guard origin.count == 1 else { throw Refusal(status: 403, reason: "no Origin") }
      guard values("Content-Type") == ["application/json"] else {
        throw Refusal(status: 415, reason: "not JSON")
      }
    }
    return route
  }

  /// Compares in a time that does not depend on where the first difference is.
  private func isToken(_ text: Substring) -> Bool {
    guard text.utf8.count == token.utf8.count else { return false }
    return zip(text.utf8, token.utf8).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
