import Foundation
import Glibc
import Testing

/// `notibot emulate --count`: several devices in one process.
@Suite(.inTurn) struct CrowdTests {
  /// Starts an emulator of several devices, and ends it after `body`.
  private func withCrowd<Result>(
    _ count: Int, _ options: [String], body: (Program, [JSON]) async throws -> Result
  ) async throws -> Result {
    let program = try Program(["emulate", "--json", "--count", "\(count)"] + options)
    var devices: [JSON] = []
    for index in 0..<count { devices.append(try JSON(parsing: try await program.output.line(index))) }
    let result = try await body(program, devices)
    program.send(SIGTERM)
    #expect(await program.ending().status == .exited(143))
    return result
  }

  @Test func `each device has a link, an id and a number at the control socket`() async throws {
    let directory = try TemporaryDirectory()
    let (link, control) = (directory.file("board"), directory.file("control"))
    try await withCrowd(3, ["--link", link, "--control", control, "--seed", "5"]) { program, devices in
      for (index, device) in devices.enumerated() {
        #expect(device["device"] == .number(Double(index + 1)))
        #expect(device["port"] == .string("\(link)-\(index + 1)"))
        #expect(device["control"] == .string("\(control)#\(index + 1)"))
        #expect(device["seed"] == .number(Double(5 + index)))
      }
      #expect(try directory.names() == ["board-1", "board-2", "board-3", "control"])
      #expect(try await run("control", "--socket", "\(control)#2", "fill", "7").status == .exited(0))
      for (number, count) in [(1, "0\n"), (2, "7\n"), (3, "0\n")] {
        #expect(try await run("count", "-p", "\(link)-\(number)").output == count)
      }
      for socket in [control, "\(control)#0", "\(control)#4"] {
        let refused = try await run("control", "--socket", socket, "stats")
        #expect(refused.status == .exited(15) && refused.errorLines.count == 1)
        #expect(refused.errors.contains("this socket has the devices 1 to 3"))
      }
      let listed = try await run("devices", "--json").output
      let emulators = try JSON(parsing: listed)["emulators"].elements
      let own = emulators.filter { $0["pid"] == .number(Double(program.pid)) }
      #expect(own.map { $0["place"] } == devices.map { $0["port"] })
    }
    #expect(try directory.names() == [])
  }

  @Test func `all boards of a path with an asterisk are tested`() async throws {
    let directory = try TemporaryDirectory()
    try await withCrowd(3, ["--link", directory.file("board"), "--profile", "quiet"]) { _, devices in
      let ending = try await run(
        "test", "--all", "-p", directory.file("board-*"), "--filter", "^FRM-1/", "--json", "-")
      #expect(ending.status == .exited(0), "\(ending.errors)")
      let boards = try JSON(parsing: ending.output)["boards"].elements
      #expect(boards.map { $0["port"] } == devices.map { $0["port"] })
      #expect(
        boards.map { $0["device"]["id"] } == [
          "24:6F:28:AA:BB:CC", "24:6F:28:AA:BB:CD", "24:6F:28:AA:BB:CE",
        ])
    }
  }

  @Test(arguments: [(SIGINT, 130.0), (SIGTERM, 143.0)])
  func `an interrupted soak of several boards absolves none`(signal: Int32, code: Double) async throws {
    let directory = try TemporaryDirectory()
    let control = directory.file("control")
    let options = ["--link", directory.file("board"), "--control", control, "--profile", "quiet"]
    try await withCrowd(2, options) { _, _ in
      let soak = try Program(["soak", "--all", "-p", directory.file("board-*"), "--duration", "1h", "--json"])
      for number in 1...2 {
        let waiting = try await run("control", "--socket", "\(control)#\(number)", "wait", "accepted>=1")
        #expect(waiting.status == .exited(0))
      }
      soak.send(signal)
      let ending = await soak.ending()
      #expect(ending.status == .exited(Int32(code)))
      let boards = try JSON(parsing: ending.output)["boards"].elements
      #expect(boards.map { $0["exit"] } == [.number(code), .number(code)])
      #expect(boards.map { $0["report"]["check"] } == ["none", "none"])
      let file = try directory.write(ending.output, to: "soaks.json")
      let page = try await run("report", "html", file)
      #expect(page.output.contains("2 boards, 2 of them not"), "\(page.errors)")
      #expect(page.output.components(separatedBy: "The run is incomplete: interrupted after").count == 3)
      let compared = try await run("report", "compare", file, file)
      #expect(compared.output.contains("an old run is incomplete"), "\(compared.errors)")
    }
  }

  @Test func `TCP ports follow each other`() async throws {
    try await withCrowd(3, ["--rfc2217", "127.0.0.1:0"]) { _, devices in
      #expect(Set(devices.compactMap { $0["port"].string }).count == 3)
      for device in devices {
        let ending = try await run("count", "-p", device["port"].string ?? "")
        #expect(ending.output == "0\n")
      }
    }
    let taken = try Program(["emulate", "--rfc2217", "127.0.0.1:0", "--json"])
    let port = try JSON(parsing: try await taken.output.line(0))["port"].string ?? ""
    let number = Int(port.split(separator: ":").last ?? "") ?? 0
    // The second of two is there already.
    let ending = try await run("emulate", "--count", "2", "--rfc2217", "127.0.0.1:\(number - 1)")
    #expect(ending.status != .exited(0) && ending.output == "" && ending.errorLines.count == 1)
    taken.send(SIGTERM)
    _ = await taken.ending()
  }

  @Test func `an occupied link ends all of them`() async throws {
    let directory = try TemporaryDirectory()
    _ = try directory.write("precious", to: "board-2")
    let ending = try await run("emulate", "--count", "3", "--link", directory.file("board"))
    #expect(ending.status == .exited(2))
    #expect(ending.output == "" && ending.errorLines.count == 1)
    #expect(ending.errors.contains("\(directory.file("board-2")): it exists and is not a link"))
    #expect(try directory.names() == ["board-2"])
  }

  @Test(arguments: [
    (["0"], 2, "--count must be 1 to 10000"), (["-1"], 2, "--count must be 1 to 10000"),
    (["10001"], 2, "--count must be 1 to 10000"),
    (["2", "--view"], 2, "--att, --ble, --flash-file and --view are for one device"),
    (["2", "--rfc2217", "127.0.0.1:65535"], 2, "2 devices need the ports 65535 to 65536"),
    (["121", "--usbip", "127.0.0.1:0"], 2, "an emulator has at most 120 devices on USB"),
    (["2", "--control", "c#1"], 2, "--control must not end in # and a number"),
    (["2", "--link", ""], 2, "--link is empty"),
    (["2", "--usbip", "127.0.0.1:0", "--serial", "A"], 2, "--serial is for one device"),
  ])
  func `a wrong number is one line`(arguments: [String], status: Int32, text: String) async throws {
    let ending = try await Program(["emulate", "--count=\(arguments[0])"] + arguments.dropFirst()).ending()
    #expect(ending.status == .exited(status) && ending.output == "")
    #expect(ending.errorLines.first?.contains(text) == true, "\(ending.errors)")
  }

  @Test func `too many for the limit of descriptors are refused before any is made`() async throws {
    let directory = try TemporaryDirectory()
    let words = "ulimit -n 300; exec \"$0\" emulate --count 100 --link \"$1\""
    let ending = try await Program(
      ["-c", words, Program.notibot, directory.file("board")], program: "/bin/bash"
    ).ending()
    #expect(ending.status == .exited(18) && ending.errorLines.count == 1)
    #expect(ending.errors.contains("100 devices do not fit: this process is limited to 300 open files"))
    #expect(try directory.names() == [])
  }
}
