/// The output of `labgrid-client show` for a place: the network serial ports in it.
///
/// A resource is a line that begins with `Acquired resource`, and below it a Python dictionary, as
/// labgrid 26.0 prints it.
package enum LabgridListing {
  /// The longest answer that is read, in bytes.
  package static let lengthLimitBytes = 65_536

  /// The serial ports of the place, in order. Those whose host or port cannot be parsed are
  /// skipped.
  package static func serialPorts(in text: String) -> [PortAddress] {
    var blocks: [String] = []
    for line in text.split(separator: "\n") {
      if line.hasPrefix("Acquired resource ") {
        blocks.append("")
      } else if !blocks.isEmpty {
        blocks[blocks.count - 1] += line + "\n"
      }
    }
    return blocks.compactMap(serialPort)
  }

  private static func serialPort(in block: String) -> PortAddress? {
    // A block that is not a usable port is skipped; the caller reports a place without any.
    guard value(of: "cls", in: block) == "NetworkSerialPort", let host = value(of: "host", in: block),
      let port = value(of: "port", in: block), let server = try? ServerEndpoint(host: host, port: port)
    else { return nil }
    return address(of: server, isRaw: value(of: "protocol", in: block) == "raw")
  }

  /// The serial port in the variables of `labgrid-client export`, at this end of its tunnel; nil if
  /// there is none.
  package static func exported(_ variables: [String: String]) -> PortAddress? {
    let values = ["HOST", "PORT", "PROTOCOL"].map { variables["LG__SERIALDRIVER_\($0)"] ?? "" }
    guard let server = try? ServerEndpoint(host: values[0], port: values[1]) else { return nil }
    return address(of: server, isRaw: values[2] == "raw")
  }

  private static func address(of server: ServerEndpoint, isRaw: Bool) -> PortAddress {
    isRaw
      ? .socket(host: server.host, port: server.port)
      : .rfc2217(host: server.host, port: server.port, RFC2217Options())
  }

  /// The quoted text or the number after a key.
  private static func value(of key: String, in block: String) -> String? {
    guard let range = block.firstRange(of: "'\(key)': ") else { return nil }
    let rest = block[range.upperBound...]
    if rest.first == "'" { return String(rest.dropFirst().prefix { $0 != "'" && $0 != "\n" }) }
    return String(rest.prefix { $0.isASCII && $0.isNumber })
  }
}
