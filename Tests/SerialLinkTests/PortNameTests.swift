import Testing

@testable import SerialLink

@Suite struct PortNameTests {
  static let readable: [(String, PortName)] = [
    ("/dev/ttyACM0", .address(.tty(path: "/dev/ttyACM0"))),
    ("./board", .address(.tty(path: "./board"))),
    ("run/board", .address(.tty(path: "run/board"))),
    ("/dev/serial/by-id/usb-1a86:x", .address(.tty(path: "/dev/serial/by-id/usb-1a86:x"))),
    ("auto", .automatic),
    ("usb:303a:1001", .usb(USBID(vendor: 0x303A, product: 0x1001), serial: nil)),
    (
      "usb:303a:1001:7C:DF:A1:00:00:01",
      .usb(USBID(vendor: 0x303A, product: 0x1001), serial: "7C:DF:A1:00:00:01")
    ),
    ("id:7CDFA1000001", .deviceID("7CDFA1000001")),
    ("rfc2217://bench:4001", .address(.rfc2217(host: "bench", port: 4001, RFC2217Options()))),
    (
      "rfc2217://bench:4001?ign_set_control",
      .address(.rfc2217(host: "bench", port: 4001, RFC2217Options(confirmsControl: false)))
    ),
    (
      "rfc2217://[::1]:4001?ign_set_control&timeout=0.25",
      .address(
        .rfc2217(
          host: "::1", port: 4001, RFC2217Options(confirmsControl: false, timeout: .milliseconds(250))))
    ),
    (
      "rfc2217://bench:1?timeout=60",
      .address(.rfc2217(host: "bench", port: 1, RFC2217Options(timeout: .seconds(60))))
    ),
    ("socket://127.0.0.1:65535", .address(.socket(host: "127.0.0.1", port: 65_535))),
    ("share:", .address(.share(path: "", isExclusive: false))),
    ("share:/tmp/noti.sock", .address(.share(path: "/tmp/noti.sock", isExclusive: false))),
    ("socket://[::1]:1", .address(.socket(host: "::1", port: 1))),
    ("labgrid:noti", .labgrid(LabgridName(place: "noti"))),
    ("labgrid:noti?wait=600", .labgrid(LabgridName(place: "noti", waitSeconds: 600))),
    ("ble:Notibot", .bluetooth(peer: "Notibot", adapter: nil)),
    ("ble:a@b@usb:0", .bluetooth(peer: "a@b", adapter: "usb:0")),
    (
      "ble:24:6F:28:AA:BB:CC/P@tcp-client:[::1]:4000",
      .bluetooth(peer: "24:6F:28:AA:BB:CC/P", adapter: "tcp-client:[::1]:4000")
    ),
    ("att:/tmp/noti.att", .attributes(path: "/tmp/noti.att")),
    ("emu:", .standIn(.emulator(profile: nil))),
    ("emu:esp32-s3", .standIn(.emulator(profile: "esp32-s3"))),
    ("qemu:", .standIn(.qemu(image: nil))),
    ("qemu:images/a.bin", .standIn(.qemu(image: "images/a.bin"))),
    ("chip:", .standIn(.chip(image: nil, line: .uart))),
    ("chip:?line=usb", .standIn(.chip(image: nil, line: .usb))),
    ("chip:images/a.bin?line=usb", .standIn(.chip(image: "images/a.bin", line: .usb))),
    ("chip:what?.bin", .standIn(.chip(image: "what?.bin", line: .uart))),
  ]

  @Test(arguments: readable)
  func `every form is parsed, and printed the same`(text: String, name: PortName) throws {
    #expect(try PortName(parsing: text) == name)
    #expect(name.description == text)
  }

  @Test func `the forms to use instead are those that can be opened`() throws {
    let list = PortList(sysfsRoot: "/nonexistent", deviceRoot: "/nonexistent")
    for form in PortName.forms {
      let name = try PortName(parsing: form.example)
      let error = portError { () throws(PortError) in _ = try list.address(of: name) }
      // `Device.find` has those with an id.
      let isOpenable = error?.code != .unavailableForm || name.deviceID != nil
      #expect(name.isOpenable == isOpenable, "\(form.syntax)")
      #expect(PortName.openableForms.contains(form.syntax) == isOpenable, "\(form.syntax)")
    }
  }

  static let unreadable: [(String, String)] = [
    ("", "the port name is empty"),
    ("a\0b", "the port name contains a NUL"),
    (String(repeating: "/", count: 4097), "the port name is longer than 4096 bytes"),
    ("ttyUSB0", "a path needs its directory: /dev/ttyUSB0"),
    ("COM3", "this is neither a path nor a known form"),
    ("chip:a.bin?line=jtag", "the line of a chip is uart or usb"),
    ("chip:?line=", "the line of a chip is uart or usb"),
    ("att:", "att: needs the path of a socket"),
    ("att:" + String(repeating: "/", count: 108), "a socket's path has at most 107 bytes"),
    ("AUTO", "this is neither a path nor a known form"),
    ("http://x:1", "the scheme http:// is not known"),
    ("usb:303a", "usb: needs two numbers of four hexadecimal digits, as in usb:303a:1001"),
    ("usb:303:1001", "usb: needs two numbers of four hexadecimal digits, as in usb:303a:1001"),
    ("usb:303g:1001", "usb: needs two numbers of four hexadecimal digits, as in usb:303a:1001"),
    ("usb:+03a:1001", "usb: needs two numbers of four hexadecimal digits, as in usb:303a:1001"),
    ("usb:303a:1001:", "the serial number after the last colon is missing"),
    ("id:", "id: needs a device id"),
    ("ble:@hci0", "ble: needs the name or the address of a device, and after @ an adapter"),
    ("ble:Notibot@", "ble: needs the name or the address of a device, and after @ an adapter"),
    ("labgrid:", "labgrid: needs the name of a place, or @TAG=VALUE,..."),
    ("labgrid:-k", "labgrid: needs the name of a place, or @TAG=VALUE,..."),
    ("labgrid:a b", "labgrid: needs the name of a place, or @TAG=VALUE,..."),
    ("labgrid:a?wait=-1", "wait= must be 0 to 86400 seconds"),
    ("labgrid:a?foo=1", "labgrid: has no option but ?wait=SECONDS"),
    ("labgrid:a?", "labgrid: has no option but ?wait=SECONDS"),
    ("labgrid:a?wait=1s", "wait= must be 0 to 86400 seconds"),
    ("labgrid:@", "'' is no tag\(tagRule)"), ("labgrid:@board", "'board' is no tag\(tagRule)"),
    ("labgrid:@b=1", "'b=1' is no tag\(tagRule)"), ("labgrid:@board=", "'board=' is no tag\(tagRule)"),
    ("labgrid:@board=a,,chip=b", "'' is no tag\(tagRule)"),
    ("labgrid:@board=a,board=b", "'board=b' is no tag\(tagRule)"),
    ("share:/" + String(repeating: "a", count: 107), "a socket's path has at most 107 bytes"),
    ("socket://host", "the TCP port is missing, as in HOST:4000"),
    ("socket://:4000", "the host name is missing or malformed"),
    ("socket://host:0", "the TCP port must be a number from 1 to 65535"),
    ("socket://host:65536", "the TCP port must be a number from 1 to 65535"),
    ("socket://host:+1", "the TCP port must be a number from 1 to 65535"),
    ("socket://host:99999999999999999999", "the TCP port must be a number from 1 to 65535"),
    ("rfc2217://::1:4000", "an IPv6 address needs brackets, as in [::1]:4000"),
    ("rfc2217://a/b:4000", "the host name is missing or malformed"),
    (
      "rfc2217://a:4000?logging=debug",
      "'logging=debug' is not known after the question mark: ign_set_control or timeout=SECONDS"
    ),
    ("rfc2217://a:4000?", "'' is not known after the question mark: ign_set_control or timeout=SECONDS"),
    ("rfc2217://a:4000?timeout=0", "timeout= takes 0.1 to 60 seconds, as in ?timeout=5"),
    ("rfc2217://a:4000?timeout=1e1", "timeout= takes 0.1 to 60 seconds, as in ?timeout=5"),
    ("rfc2217://a:4000?timeout=61", "timeout= takes 0.1 to 60 seconds, as in ?timeout=5"),
    ("socket://a:4000?timeout=1", "the TCP port must be a number from 1 to 65535"),
  ]

  private static let tagRule = ": use KEY=VALUE, with a key of at least two of a-z, 0-9 and _"

  @Test(arguments: unreadable)
  func `invalid names are refused with the reason`(text: String, problem: String) {
    let error = portError { () throws(PortError) in _ = try PortName(parsing: text) }
    #expect(error?.code == .badPortName(problem))
    #expect(error?.hint.hasSuffix(": \(PortName.allForms)") == true)
  }

  @Test(arguments: PortName.forms)
  func `the example of each form in the table is of that form`(form: PortName.Form) throws {
    let name = try PortName(parsing: form.example)
    #expect(name.description == form.example)
    #expect(form.syntax.hasPrefix(form.prefix))
    #expect(form.example.hasPrefix(form.prefix.isEmpty ? "/dev/" : form.prefix))
  }

  @Test func `docs CLI md has the table of forms, row by row`() throws {
    let page = String(decoding: try #require(FileSystem.contents(of: "docs/CLI.md")), as: UTF8.self)
    let rows = page.split(separator: "\n").drop { $0 != "| form | example | names |" }.dropFirst(2)
      .prefix { $0.hasPrefix("|") }
    let expected = PortName.forms.map { "| `\($0.syntax)` | `\($0.example)` | \($0.meaning) |" }
    #expect(rows.map(String.init) == expected)
  }

  @Test func `a name alone is a path where something has that name`() throws {
    #expect(try PortName(parsing: "null") == .address(.tty(path: "/dev/null")))
    // The tests run in the folder of the package.
    #expect(try PortName(parsing: "Package.swift") == .address(.tty(path: "./Package.swift")))
  }

  @Test func `for a word that is not a name the remedy has that of a file`() {
    let error = portError { () throws(PortError) in _ = try PortName(parsing: "no-such-file") }
    #expect(error?.hint.hasPrefix("a file in this folder is ./no-such-file; other forms: /dev/NAME,") == true)
  }

  @Test func `a user's text is printed without its control characters`() {
    let error = portError { () throws(PortError) in _ = try PortName(parsing: "\u{1B}[2J\n") }
    #expect(error?.description == "cannot use port \\u{1b}[2J\\u{a}: this is neither a path nor a known form")
  }
}

@Suite struct PortAddressTests {
  private static let tty = PortAddress.tty(path: "/dev/ttyUSB0")
  private static let rfc2217 = PortAddress.rfc2217(
    host: "lab", port: 4000, RFC2217Options(confirmsControl: false))
  private static let socket = PortAddress.socket(host: "lab", port: 4000)

  @Test func `only a serial device is local, and only a socket has no rate`() {
    #expect([Self.tty, Self.rfc2217, Self.socket].map(\.isRemote) == [false, true, true])
    #expect([Self.tty, Self.rfc2217, Self.socket].map(\.hasRate) == [true, true, false])
    #expect(Self.tty.path == "/dev/ttyUSB0")
  }

  @Test func `a server without RFC 2217 is a socket, and other addresses are unchanged`() {
    #expect(Self.rfc2217.withoutNegotiation == Self.socket)
    #expect(Self.socket.withoutNegotiation == Self.socket)
    #expect(Self.tty.withoutNegotiation == Self.tty)
  }
}

@Suite struct PortSelectionTests {
  @Test func `the option wins over both variables`() throws {
    let environment = ["NOTIBOT_PORT": "/dev/b", "ESPPORT": "/dev/c"]
    let chosen = try PortSelection.port(option: "/dev/a", environment: environment)
    #expect(chosen == Sourced(value: .address(.tty(path: "/dev/a")), source: .option("--port")))
  }

  @Test func `our variable wins over the one of other tools, and an empty one does not count`() throws {
    let both = ["NOTIBOT_PORT": "/dev/b", "ESPPORT": "/dev/c"]
    let ours = try PortSelection.port(option: nil, environment: both)
    #expect(ours == Sourced(value: .address(.tty(path: "/dev/b")), source: .environment("NOTIBOT_PORT")))
    let theirs = try PortSelection.port(option: nil, environment: ["NOTIBOT_PORT": "", "ESPPORT": "/dev/c"])
    #expect(theirs == Sourced(value: .address(.tty(path: "/dev/c")), source: .environment("ESPPORT")))
  }

  @Test func `nothing set means auto at the standard rate`() throws {
    let port = try PortSelection.port(option: nil, environment: [:])
    #expect(port == Sourced(value: .automatic, source: .standard))
    let rate = try PortSelection.bitsPerSecond(option: nil, environment: [:])
    #expect(rate == Sourced(value: 921_600, source: .standard))
  }

  @Test func `a bad port names the variable that it came from`() {
    let error = portError { () throws(PortError) in
      _ = try PortSelection.port(option: nil, environment: ["ESPPORT": "COM3"])
    }
    #expect(error?.code == .badPortName("this is neither a path nor a known form (from ESPPORT)"))
  }

  @Test func `the rate is selected in the same order`() throws {
    let environment = ["NOTIBOT_BAUD": "230400", "ESPBAUD": "74880"]
    let option = try PortSelection.bitsPerSecond(option: "9600", environment: environment)
    #expect(option == Sourced(value: 9600, source: .option("--baud")))
    let ours = try PortSelection.bitsPerSecond(option: nil, environment: environment)
    #expect(ours == Sourced(value: 230_400, source: .environment("NOTIBOT_BAUD")))
    let theirs = try PortSelection.bitsPerSecond(option: nil, environment: ["ESPBAUD": "74880"])
    #expect(theirs == Sourced(value: 74_880, source: .environment("ESPBAUD")))
  }

  @Test(arguments: ["0", "-1", "+9600", "fast", "20000001", "99999999999999999999", " 9600"])
  func `a rate that is not a number in range is refused`(text: String) {
    let error = portError { () throws(PortError) in
      _ = try PortSelection.bitsPerSecond(option: text, environment: [:])
    }
    #expect(error?.code == .badRate("the rate must be a number from 1 to 20000000 (from --baud)"))
  }
}
