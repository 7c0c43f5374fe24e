/// A port as a user names it.
package enum PortName: Hashable, Sendable {
  /// A serial device or a link to one.
  case path(String)
  /// The one known board that is connected.
  case automatic
  /// The USB device with this vendor, product and, if given, serial number.
  case usb(USBID, serial: String?)
  /// The board that reports this identity after connecting.
  case deviceID(String)
  /// A serial port behind a telnet server with the COM port option. Port 1...65535.
  case rfc2217(host: String, port: Int, RFC2217Options)
  /// Plain bytes over TCP. Port 1...65535.
  case socket(host: String, port: Int)
  /// The serial port of a place of labgrid, which has to be acquired first.
  case labgrid(place: String)
  /// An emulator inside this process; `nil` is its default profile.
  case emulator(profile: String?)
  /// Firmware on an emulated CPU; `nil` is the default image.
  case qemu(image: String?)

  /// Every form that can be opened, in one line, for help and for the remedy of an error.
  package static let forms =
    "a port is /dev/NAME or ./NAME (NAME alone where one of them is there), auto, usb:VID:PID[:SERIAL], id:DEVICE-ID, rfc2217://HOST:PORT, socket://HOST:PORT, labgrid:PLACE, emu:[PROFILE] or qemu:[ELF]"

  /// The longest name of a place.
  static let labgridPlaceLimitBytes = 128
  /// Longer than any path the kernel takes.
  static let lengthLimitBytes = 4096

  /// Reads `text`. Throws `PortError` with code `.badPortName`, which says what is wrong with it.
  package init(parsing text: String) throws(PortError) {
    if let problem = PortName.generalProblem(with: text) { throw PortName.bad(text, problem) }
    if text == "auto" {
      self = .automatic
    } else if let rest = text.after("rfc2217://") {
      self = try PortName.rfc2217(parsing: rest, in: text)
    } else if let rest = text.after("socket://") {
      let (host, port) = try PortName.endpoint(rest, in: text)
      self = .socket(host: host, port: port)
    } else if let rest = text.after("usb:") {
      self = try PortName.usb(parsing: rest, in: text)
    } else if let rest = text.after("id:") {
      guard !rest.isEmpty else { throw PortName.bad(text, "id: needs a device id") }
      self = .deviceID(rest)
    } else if let rest = text.after("labgrid:") {
      guard !rest.isEmpty, !rest.hasPrefix("-"), rest.utf8.count <= PortName.labgridPlaceLimitBytes,
        !rest.contains(where: \.isWhitespace)
      else { throw PortName.bad(text, "labgrid: needs the name of a place") }
      self = .labgrid(place: rest)
    } else if let rest = text.after("emu:") {
      self = .emulator(profile: rest.isEmpty ? nil : rest)
    } else if let rest = text.after("qemu:") {
      self = .qemu(image: rest.isEmpty ? nil : rest)
    } else {
      self = try PortName.path(parsing: text)
    }
  }

  private static func generalProblem(with text: String) -> String? {
    if text.isEmpty { return "the port name is empty" }
    if text.utf8.count > lengthLimitBytes { return "the port name is longer than \(lengthLimitBytes) bytes" }
    if text.utf8.contains(0) { return "the port name contains a NUL" }
    return nil
  }

  private static func path(parsing text: String) throws(PortError) -> PortName {
    if text.hasPrefix("/") || text.hasPrefix("./") || text.hasPrefix("../") { return .path(text) }
    if let scheme = text.firstRange(of: "://") {
      throw bad(text, "the scheme \(text[..<scheme.lowerBound]):// is not known")
    }
    // A name without a folder, as completion leaves it: first what `ls /dev` shows, then what is in this folder.
    for place in ["/dev/\(text)", "./\(text)"] where !text.contains("/") {
      if FileSystem.status(of: place) != nil { return .path(place) }
    }
    if text.hasPrefix("tty") { throw bad(text, "a path needs its directory: /dev/\(text)") }
    if text.contains("/") { return .path(text) }
    throw bad(text, "this is neither a path nor a known form")
  }

  private static func usb(parsing rest: String, in text: String) throws(PortError) -> PortName {
    // A serial number may itself contain colons: native USB of ESP32 chips reports its MAC.
    let parts = rest.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count >= 2, let vendor = USBID.number(parts[0]), let product = USBID.number(parts[1]) else {
      throw bad(text, "usb: needs two numbers of four hexadecimal digits, as in usb:303a:1001")
    }
    let serial = parts.count == 3 ? String(parts[2]) : nil
    guard serial != "" else { throw bad(text, "the serial number after the last colon is missing") }
    return .usb(USBID(vendor: vendor, product: product), serial: serial)
  }

  private static func rfc2217(parsing rest: String, in text: String) throws(PortError) -> PortName {
    let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let (host, port) = try endpoint(String(parts[0]), in: text)
    guard parts.count == 2 else { return .rfc2217(host: host, port: port, RFC2217Options()) }
    do {
      return .rfc2217(host: host, port: port, try RFC2217Options(parsing: parts[1]))
    } catch {
      throw bad(text, error.text)
    }
  }

  /// `host:port` or `[v6]:port`.
  private static func endpoint(_ rest: String, in text: String) throws(PortError) -> (String, Int) {
    guard let colon = rest.lastIndex(of: ":") else {
      throw bad(text, "the TCP port is missing, as in HOST:4000")
    }
    var host = String(rest[..<colon])
    let digits = rest[rest.index(after: colon)...]
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = Int(digits),
      (1...65_535).contains(port)
    else { throw bad(text, "the TCP port must be a number from 1 to 65535") }
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = String(host.dropFirst().dropLast())
    } else if host.contains(":") {
      throw bad(text, "an IPv6 address needs brackets, as in [::1]:4000")
    }
    guard !host.isEmpty, !host.contains("/"), !host.contains("[") else {
      throw bad(text, "the host name is missing or malformed")
    }
    return (host, port)
  }

  private static func bad(_ text: String, _ problem: String) -> PortError {
    PortError(.badPortName(problem), port: String(text.prefix(80)), operation: "use port")
  }
}

extension PortName {
  /// The identity that the board must have, if the name says one.
  package var deviceID: String? {
    switch self {
    case .deviceID(let id): id
    case .path, .automatic, .usb, .rfc2217, .socket, .labgrid, .emulator, .qemu: nil
    }
  }
}

extension PortName: CustomStringConvertible {
  /// The form that `init(parsing:)` reads back. Not sanitised for a terminal.
  package var description: String {
    switch self {
    case .path(let path): path
    case .automatic: "auto"
    case .usb(let id, .some(let serial)): "usb:\(id):\(serial)"
    case .usb(let id, nil): "usb:\(id)"
    case .deviceID(let id): "id:\(id)"
    case .rfc2217(let host, let port, let options):
      "rfc2217://\(bracketed(host)):\(port)\(options.query)"
    case .socket(let host, let port): "socket://\(bracketed(host)):\(port)"
    case .labgrid(let place): "labgrid:\(place)"
    case .emulator(let profile): "emu:\(profile ?? "")"
    case .qemu(let image): "qemu:\(image ?? "")"
    }
  }

  private func bracketed(_ host: String) -> String {
    host.contains(":") ? "[\(host)]" : host
  }
}

extension String {
  /// What follows `prefix`, or `nil` if this does not start with it.
  fileprivate func after(_ prefix: String) -> String? {
    hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
  }
}
