/// A port that can be opened: a local serial device, or a port of a server.
///
/// A user types a `PortName`; `PortList.address(of:)` resolves it to an address.
package enum PortAddress: Hashable, Sendable {
  /// A serial device, or a link to one.
  case tty(path: String)
  /// A serial port behind a telnet server with the COM port option. Port 1...65535.
  case rfc2217(host: String, port: Int, RFC2217Options)
  /// Plain bytes over TCP. Port 1...65535.
  case socket(host: String, port: Int)
  /// A board that `notibot share` offers at a unix socket; an empty path: the only one of this
  /// user. `isExclusive`: its line itself, while nobody else uses it.
  case share(path: String, isExclusive: Bool)

  /// The path of a serial device; `nil` for a server's port.
  package var path: String? { if case .tty(let path) = self { path } else { nil } }

  /// Whether it is reached through a server, such as `share`, instead of opened as a device.
  package var isRemote: Bool { path == nil }

  /// Whether this host sets the port's rate.
  package var hasRate: Bool {
    switch self {
    case .tty, .rfc2217: true
    case .socket, .share: false
    }
  }

  /// The same server without RFC 2217, which runs over plain bytes: enough to learn whether it
  /// accepts connections.
  package var withoutNegotiation: PortAddress {
    if case .rfc2217(let host, let port, _) = self { .socket(host: host, port: port) } else { self }
  }
}

extension PortAddress: CustomStringConvertible {
  /// As a user would type it. Not sanitised for a terminal.
  package var description: String {
    switch self {
    case .tty(let path): path
    case .rfc2217(let host, let port, let options):
      "rfc2217://\(bracketed(host)):\(port)\(options.query)"
    case .share(let path, _): "share:\(path)"
    case .socket(let host, let port): "socket://\(bracketed(host)):\(port)"
    }
  }

  private func bracketed(_ host: String) -> String {
    host.contains(":") ? "[\(host)]" : host
  }
}

/// Host and TCP port of a server, checked.
struct ServerEndpoint: Hashable, Sendable {
  /// A name or an address; an IPv6 address without brackets.
  let host: String
  /// 1...65535.
  let port: Int

  /// Reads `HOST:PORT` or `[V6]:PORT`. Throws the reason if it is malformed.
  init(parsing text: some StringProtocol) throws(Failure) {
    guard let colon = text.lastIndex(of: ":") else {
      throw Failure(.usage, "the TCP port is missing, as in HOST:4000")
    }
    var host = String(text[..<colon])
    let port = try Self.port(text[text.index(after: colon)...])
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = String(host.dropFirst().dropLast())
    } else if host.contains(":") {
      throw Failure(.usage, "an IPv6 address needs brackets, as in [::1]:4000")
    }
    (self.host, self.port) = (try Self.checked(host), port)
  }

  /// Checks a host without brackets, and the digits of a port. Throws the reason if they are
  /// malformed.
  init(host: String, port digits: some StringProtocol) throws(Failure) {
    (self.host, port) = (try Self.checked(host), try Self.port(digits))
  }

  private static func port(_ digits: some StringProtocol) throws(Failure) -> Int {
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(digits),
      (1...65_535).contains(port)
    else { throw Failure(.usage, "the TCP port must be a number from 1 to 65535") }
    return port
  }

  private static func checked(_ host: String) throws(Failure) -> String {
    guard !host.isEmpty, !host.contains("/"), !host.contains("[") else {
      throw Failure(.usage, "the host name is missing or malformed")
    }
    return host
  }
}
