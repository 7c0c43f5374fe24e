package import SerialLink

/// The TCP address of an emulator's port.
package struct NetworkAddress: Hashable, Sendable {
  /// The protocol of the port.
  package enum Service: String, Hashable, Sendable {
    /// Telnet with the COM port option: bytes, rate, modem lines.
    case rfc2217
    /// Raw bytes.
    case bytes
  }

  package var service: Service
  /// A name or an address; default: the loopback address.
  package var host: String
  /// 0...65535; 0 is any free port.
  package var port: Int

  package init(_ service: Service, host: String, port: Int) {
    self.service = service
    self.host = host
    self.port = port
  }

  /// Parses `HOST:PORT`, `[V6]:PORT` or `PORT`; nil if it has none of these forms.
  package init?(_ service: Service, parsing text: String) {
    let digits = text.split(separator: ":", omittingEmptySubsequences: false).last ?? ""
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(digits),
      (0...65_535).contains(port)
    else { return nil }
    var host = String(text.dropLast(digits.count))
    guard !host.isEmpty else {
      self.init(service, host: "127.0.0.1", port: port)
      return
    }
    host.removeLast()
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = String(host.dropFirst().dropLast())
    } else if host.contains(":") {
      return nil
    }
    guard !host.isEmpty, !host.contains("/"), !host.contains("[") else { return nil }
    self.init(service, host: host, port: port)
  }

  /// Whether only programs on this computer can reach it, as far as its text shows.
  package var isLoopback: Bool {
    host == "localhost" || host == "::1" || host.hasPrefix("127.")
  }

  /// The port name that a host opens.
  package var portAddress: PortAddress {
    switch service {
    case .rfc2217: .rfc2217(host: host, port: port, RFC2217Options())
    case .bytes: .socket(host: host, port: port)
    }
  }
}
