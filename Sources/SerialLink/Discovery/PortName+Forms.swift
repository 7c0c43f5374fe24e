extension PortName {
  /// One way to name a port.
  package struct Form: Sendable {
    /// The prefix of this form; empty for a path, which is any name without another form's prefix.
    let prefix: String
    /// The syntax, as help and errors show it; capital letters are placeholders.
    package let syntax: String
    /// A name of this form.
    package let example: String
    /// The meaning of such a name, as in docs/CLI.md.
    package let meaning: String
    /// Parses the text after the prefix.
    let read: @Sendable (Substring) throws(Failure) -> PortName

    /// Whether `text` is of this form, valid or not.
    fileprivate func covers(_ text: String) -> Bool {
      // `auto` is a complete name.
      prefix == syntax ? text == prefix : !prefix.isEmpty && text.hasPrefix(prefix)
    }
  }

  /// All forms. Names are parsed by this table; help, errors and the table in docs/CLI.md are
  /// checked against it.
  package static let forms = [
    path,
    Form(
      prefix: "auto", syntax: "auto", example: "auto",
      meaning:
        "the only known board that is connected; several are an error that lists them; unknown boards are never written to",
      read: { _ in .automatic }),
    Form(
      prefix: "usb:", syntax: "usb:VID:PID[:SERIAL]", example: "usb:303a:1001",
      meaning: "the USB device with these ids", read: usb),
    Form(
      prefix: "id:", syntax: "id:DEVICE-ID", example: "id:24:6F:28:AA:BB:CC",
      meaning:
        "the known board that reports this id; all known boards are queried in parallel; several are an error that lists them",
      read: deviceID),
    Form(
      prefix: "rfc2217://", syntax: "rfc2217://HOST:PORT[?OPTIONS]", example: "rfc2217://lab:4000?timeout=5",
      meaning:
        "a serial port behind a telnet server, with rate and modem lines; options: ign_set_control, timeout=SECONDS",
      read: rfc2217),
    Form(
      prefix: "socket://", syntax: "socket://HOST:PORT", example: "socket://[::1]:4000",
      meaning: "bytes over TCP", read: socket),
    Form(
      prefix: "share:", syntax: "share:[PATH]", example: "share:/tmp/noti.sock",
      meaning:
        "a board that `share` offers at a unix socket to several programs at once; without PATH the only one of this user that runs without `--socket`",
      read: share),
    Form(
      prefix: "labgrid:@", syntax: "labgrid:@TAG=VALUE[,...]", example: "labgrid:@board=notibot,chip=esp32c3",
      meaning: "any free labgrid place with all these tags; with `--all` every such place",
      read: labgridTags),
    Form(
      prefix: "labgrid:", syntax: "labgrid:PLACE[?wait=SECONDS]", example: "labgrid:noti",
      meaning:
        "the serial port of a labgrid place, acquired while the command runs; `?wait=`, also after tags, waits for a place in use",
      read: labgrid),
    Form(
      prefix: "ble:", syntax: "ble:NAME[@ADAPTER]", example: "ble:Notibot@hci0",
      meaning:
        "the Bluetooth LE device with this name, or with an address, AA:BB:CC:DD:EE:FF or with /P a public one; for `test`, `send`, `count`, `watch` and `bench`",
      read: bluetooth),
    Form(
      prefix: "att:", syntax: "att:PATH", example: "att:/tmp/noti.att",
      meaning: "the attributes that `emulate --att` serves at a unix socket; for the same commands as `ble:`",
      read: attributes),
    Form(
      prefix: "emu:", syntax: "emu:[PROFILE]", example: "emu:usb-serial-jtag",
      meaning: "an emulator in this process; in virtual time for `test`",
      read: { .standIn(.emulator(profile: $0.isEmpty ? nil : String($0))) }),
    Form(
      prefix: "qemu:", syntax: "qemu:[ELF]", example: "qemu:app.elf",
      meaning:
        "the reference firmware, or another ELF file for the same board, on an emulated CPU, while the command runs",
      read: { .standIn(.qemu(image: $0.isEmpty ? nil : String($0))) }),
    Form(
      prefix: "chip:", syntax: "chip:[IMAGE][?line=usb]", example: "chip:app.bin",
      meaning:
        "an image for ESP32-C3, by default the reference firmware's, on a model of the chip, with its modem lines, while the command runs; in virtual time for `test`; default line: uart",
      read: chip),
  ]

  private static let path = Form(
    prefix: "", syntax: "/dev/NAME", example: "/dev/ttyACM0",
    meaning:
      "a serial device or a symbolic link to one; NAME alone if it is in /dev or in the working folder",
    read: tty)

  /// All forms in one line, for help and for the remedy of an error.
  package static let allForms = list(forms)

  /// The forms that the library can open, in one line.
  package static let openableForms = list(
    forms.filter { (try? PortName(parsing: $0.example))?.isOpenable == true })

  private static func list(_ forms: [Form]) -> String {
    let syntaxes = forms.map(\.syntax)
    return "\(syntaxes.dropLast().joined(separator: ", ")) or \(syntaxes[syntaxes.count - 1])"
  }

  /// Longer than any path that the kernel accepts.
  static let lengthLimitBytes = 4096

  /// Reads `text`. Throws `PortError` with code `.badPortName` and the reason.
  package init(parsing text: String) throws(PortError) {
    do throws(Failure) {
      try PortName.check(text)
      let form = PortName.forms.first { $0.covers(text) } ?? PortName.path
      self = try form.read(text.dropFirst(form.prefix.count))
    } catch {
      throw PortError(.badPortName(error.message), port: String(text.prefix(80)), operation: "use port")
    }
  }

  private static func check(_ text: String) throws(Failure) {
    if text.isEmpty { throw Failure(.usage, "the port name is empty") }
    if text.utf8.count > lengthLimitBytes {
      throw Failure(.usage, "the port name is longer than \(lengthLimitBytes) bytes")
    }
    if text.utf8.contains(0) { throw Failure(.usage, "the port name contains a NUL") }
  }

  /// The reason for a word that is not a name, and for one of a file that does not exist yet.
  static let noForm = "this is neither a path nor a known form"

  private static func tty(parsing text: Substring) throws(Failure) -> PortName {
    let path = PortName.address(.tty(path: String(text)))
    if text.hasPrefix("/") || text.hasPrefix("./") || text.hasPrefix("../") { return path }
    if let scheme = text.firstRange(of: "://") {
      throw Failure(.usage, "the scheme \(text[..<scheme.lowerBound]):// is not known")
    }
    // A name without a folder, as left by completion: first in /dev, then in the working folder.
    for place in ["/dev/\(text)", "./\(text)"] where !text.contains("/") {
      if FileSystem.status(of: place) != nil { return .address(.tty(path: place)) }
    }
    if text.hasPrefix("tty") { throw Failure(.usage, "a path needs its directory: /dev/\(text)") }
    if text.contains("/") { return path }
    throw Failure(.usage, noForm)
  }

  private static func usb(parsing rest: Substring) throws(Failure) -> PortName {
    // A serial number can itself contain colons: native USB of ESP32 chips reports its MAC.
    let parts = rest.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count >= 2, let vendor = USBID.number(parts[0]), let product = USBID.number(parts[1]) else {
      throw Failure(.usage, "usb: needs two numbers of four hexadecimal digits, as in usb:303a:1001")
    }
    let serial = parts.count == 3 ? String(parts[2]) : nil
    guard serial != "" else { throw Failure(.usage, "the serial number after the last colon is missing") }
    return .usb(USBID(vendor: vendor, product: product), serial: serial)
  }

  private static func deviceID(parsing rest: Substring) throws(Failure) -> PortName {
    guard !rest.isEmpty else { throw Failure(.usage, "id: needs a device id") }
    return .deviceID(String(rest))
  }

  private static func rfc2217(parsing rest: Substring) throws(Failure) -> PortName {
    let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let server = try ServerEndpoint(parsing: parts[0])
    let options = parts.count == 2 ? try RFC2217Options(parsing: parts[1]) : RFC2217Options()
    return .address(.rfc2217(host: server.host, port: server.port, options))
  }

  private static func socket(parsing rest: Substring) throws(Failure) -> PortName {
    let server = try ServerEndpoint(parsing: rest)
    return .address(.socket(host: server.host, port: server.port))
  }

  private static func share(parsing rest: Substring) throws(Failure) -> PortName {
    .address(.share(path: try socketPath(rest), isExclusive: false))
  }

  private static func attributes(parsing rest: Substring) throws(Failure) -> PortName {
    guard !rest.isEmpty else { throw Failure(.usage, "att: needs the path of a socket") }
    return .attributes(path: try socketPath(rest))
  }

  private static func socketPath(_ text: Substring) throws(Failure) -> String {
    guard text.utf8.count <= UnixSocket.pathLimitBytes else {
      throw Failure(.usage, "a socket's path has at most \(UnixSocket.pathLimitBytes) bytes")
    }
    return String(text)
  }

  private static func chip(parsing rest: Substring) throws(Failure) -> PortName {
    let parts = rest.split(separator: "?line=", maxSplits: 1, omittingEmptySubsequences: false)
    guard let line = parts.count == 2 ? ChipLine(rawValue: String(parts[1])) : .uart else {
      throw Failure(.usage, "the line of a chip is uart or usb")
    }
    return .standIn(.chip(image: parts[0].isEmpty ? nil : String(parts[0]), line: line))
  }

  private static func bluetooth(parsing rest: Substring) throws(Failure) -> PortName {
    let at = rest.lastIndex(of: "@")
    let peer = rest[..<(at ?? rest.endIndex)]
    let adapter = at.map { rest[rest.index(after: $0)...] }
    guard !peer.isEmpty, adapter?.isEmpty != true else {
      throw Failure(.usage, "ble: needs the name or the address of a device, and after @ an adapter")
    }
    return .bluetooth(peer: String(peer), adapter: adapter.map(String.init))
  }

  private static func labgrid(parsing rest: Substring) throws(Failure) -> PortName {
    .labgrid(try LabgridName(parsing: rest))
  }

  private static func labgridTags(parsing rest: Substring) throws(Failure) -> PortName {
    try labgrid(parsing: "@" + rest)
  }
}
