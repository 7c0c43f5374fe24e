/// Decides whether a request over HTTP to this computer comes from a program or a page that is
/// permitted: a value, without I/O. Any page in a browser can make it send requests to a port on
/// loopback, but it cannot forge `Host`, `Origin` and `Sec-Fetch-Site`.
package struct LoopbackGate: Hashable, Sendable {
  /// The port of the server's address; if nil, any, because a tunnel can change it.
  package var port: Int?
  /// Whether pages of the server itself are permitted.
  package var hasPages: Bool

  package init(port: Int?, hasPages: Bool) {
    self.port = port
    self.hasPages = hasPages
  }

  /// Why a request is refused with 403; nil if it is permitted.
  /// - Parameter values: the values of all header fields with a name.
  package func problem(_ values: (String) -> [String]) -> String? {
    let host = values("Host")
    guard host.count == 1, isOwn(host[0]) else { return "unknown Host" }
    let origin = values("Origin")
    let isOwnPage = origin.allSatisfy { $0.hasPrefix("http://") && isOwn(String($0.dropFirst(7))) }
    guard origin.isEmpty || hasPages && isOwnPage else { return "another Origin" }
    guard values("Sec-Fetch-Site").allSatisfy({ ["same-origin", "none"].contains($0) }) else {
      return "a request of another site"
    }
    return nil
  }

  /// Whether `text` is a name of this computer, with the server's port.
  private func isOwn(_ text: String) -> Bool {
    let name = ["127.0.0.1", "localhost", "[::1]"].first { text.lowercased().hasPrefix($0) }
    guard let name else { return false }
    let rest = text.utf8.dropFirst(name.utf8.count)
    guard let colon = rest.first else { return port == nil || port == 80 }
    let digits = rest.dropFirst()
    guard colon == UInt8(ascii: ":"), (1...5).contains(digits.count),
      digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return false }
    return port == nil || port == Int(String(Substring(digits)))
  }
}
