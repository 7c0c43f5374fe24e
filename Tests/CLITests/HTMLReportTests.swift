import Foundation
import Glibc
import Testing

/// `--html`, and `notibot report`.
@Suite(.inTurn) struct HTMLReportTests {
  @Test func `a failing case is shown with its rule, its cause and its frames`() async throws {
    let directory = try TemporaryDirectory()
    let ending = try await Program(
      [
        "test", "--filter", "^\(BrokenFirmware.testCase)$", "-v", "--html", directory.file("r.html"),
        "--json",
      ]
        + [directory.file("r.json")] + BrokenFirmware.rig()
    ).ending()
    #expect(ending.status == .exited(1))
    for text in [
      "NTF-1, docs/PROTOCOL.md: A write of Data is one notification", "< HELLO: VERSIONS 1-1",
      "Write Data, 70 bytes, \"{\"app\":\"Rig\"",
    ] {
      #expect(ending.output.contains(text), "\(text)")
    }
    #expect(!ending.output.contains(".swift"))
    let page = try directory.contents(of: "r.html")
    for text in [
      "Not passed: ", "0 of 1 cases passed, 1 failed", "<svg class=\"wire\"", "Start with the first",
      "HELLO: VERSIONS",
    ] {
      #expect(page.contains(text), "\(text)")
    }
    #expect(!page.contains("<script"))
    let converted = try await run("report", "html", directory.file("r.json"))
    #expect(converted.status == .exited(0) && converted.output == page)
    let written = try await run("report", "html", directory.file("r.json"), "-o", directory.file("s.html"))
    #expect(written.output == "")
    #expect(try directory.contents(of: "s.html") == page)
  }

  @Test func `a run that cannot begin or is stopped leaves a report, and a killed one the former`()
    async throws
  {
    let directory = try TemporaryDirectory()
    let absent = try await run("test", "-p", "/dev/no-such-port", "--html", directory.file("absent.html"))
    #expect(absent.status == .exited(10))
    #expect(try directory.contents(of: "absent.html").contains("The run is incomplete: "))
    let page = try directory.write("former", to: "page.html")
    for signal in [SIGKILL, SIGTERM] {
      // The first case passes, the second one waits for this port.
      let terminal = try ControlledTerminal()
      let program = try Program([
        "test", "-p", "emu:", "-p", terminal.path, "--timeout", "600", "--filter", "^FRM-1/literal-syn",
        "--html", page,
      ])
      _ = try await program.output.line(0)
      program.send(signal)
      _ = await program.ending()
      let text = try directory.contents(of: "page.html")
      #expect(
        signal == SIGKILL ? text == "former" : text.contains("Not passed") && text.hasSuffix("</html>\n"))
    }
  }

  @Test func `two reports do not share a file, and an unusable path is found first`() async throws {
    let directory = try TemporaryDirectory()
    let same = directory.file("x")
    for options in [["--html", same, "--json", same], ["--html", same, "--junit", same]] {
      let ending = try await Program(["test", "--rig", "emulator"] + options).ending()
      #expect(ending.status == .exited(2) && ending.errors.contains("two reports"))
    }
    for command in [
      ["test", "--rig", "emulator"], ["soak", "-p", "emu:", "--duration", "1"], ["bench", "-p", "emu:"],
    ] {
      let ending = try await Program(command + ["--html", "/no/such/folder/r.html"]).ending()
      #expect(ending.status == .exited(18) && ending.output == "")
    }
  }

  @Test func `a soak has its latencies, memory and console in the report`() async throws {
    let directory = try TemporaryDirectory()
    let ending = try await run(
      "soak", "-p", "emu:", "--duration", "2s", "--rate", "40", "--seed", "1", "--html",
      directory.file("s.html"), "--json")
    #expect(ending.status == .exited(0), "\(ending.errors)")
    let report = try JSON(parsing: ending.output)
    #expect(report["samples"].elements.count >= 4)
    #expect(report["events"].elements.contains { $0["text"].string?.hasPrefix("session on ") == true })
    #expect(report["events"].elements.contains { $0["text"].string?.hasPrefix("console: ") == true })
    let counted = report["histogram"].elements.compactMap { $0["count"].number }.reduce(0, +)
    #expect(counted == report["delivered"].number)
    let page = try directory.contents(of: "s.html")
    for text in [
      "Passed: ", "Queued to delivered", "Resident memory", "console: ", "<polyline class=\"line1\"",
    ] {
      #expect(page.contains(text), "\(text)")
    }
  }

  @Test func `a soak that fails has its reason in the report`() async throws {
    let directory = try TemporaryDirectory()
    let terminal = try ControlledTerminal()
    let ending = try await run(
      "soak", "-p", terminal.path, "--duration", "1h", "--timeout", "0.2", "--html", directory.file("s.html"))
    #expect(ending.status == .exited(13))
    let page = try directory.contents(of: "s.html")
    #expect(page.contains("Not passed: ") && page.contains("The run is incomplete: no answer from "))
  }

  @Test func `repeated benches have a report, and are equal to themselves`() async throws {
    let directory = try TemporaryDirectory()
    let ending = try await run(
      "bench", "-p", "emu:bench", "--count", "400", "--trips", "50", "--repeat", "3", "--html",
      directory.file("b.html"),
      "--json")
    #expect(ending.status == .exited(0), "\(ending.errors)")
    let report = try JSON(parsing: ending.output)
    #expect(report["runs"].elements.count == 3)
    let counted = report["histogram"].elements.compactMap { $0["count"].number }.reduce(0, +)
    #expect(counted == 50)
    let page = try directory.contents(of: "b.html")
    for text in ["notifications per second", "run 3", "Write to answer", "<rect class=\"bar\""] {
      #expect(page.contains(text), "\(text)")
    }
    let file = try directory.write(ending.output, to: "b.json")
    let equal = try await run("report", "compare", file, file)
    #expect(equal.status == .exited(0) && equal.output.hasPrefix("notibot.bench: no change beyond the noise"))
  }

  @Test(arguments: [nil, "disconnected"])
  func `a bench that cannot begin, is interrupted or loses its board has its reason and runs in the report`(
    loss: String?
  ) async throws {
    let directory = try TemporaryDirectory()
    let absent = try await run("bench", "-p", "/dev/no-such-port", "--html", directory.file("a.html"))
    #expect(absent.status == .exited(10) && absent.output == "")
    #expect(try directory.contents(of: "a.html").contains("The run is incomplete: "))
    try await withEmulator("--profile", "bench") { emulator in
      let bench = try Program([
        "bench", "-p", emulator.port, "--count", "50", "--trips", "0", "--repeat", "100", "--html",
        directory.file("b.html"), "--json",
      ])
      // Several runs, each with as many for warming up.
      try await emulator.wait(for: "accepted>=301")
      if loss == nil { bench.send(SIGTERM) } else { try await emulator.ask(["command": "unplug"]) }
      let ending = await bench.ending()
      #expect(ending.status == .exited(loss == nil ? 143 : 14), "\(ending.errors)")
      let report = try JSON(parsing: ending.output)
      let trouble = try #require(report["trouble"].string)
      #expect(report["runs"].elements.count >= 3 && trouble.contains(loss ?? "terminated"))
      let page = try directory.contents(of: "b.html")
      #expect(page.contains("The run is incomplete: \(trouble)") && page.contains("run 3"))
    }
  }

  @Test func `a report does not replace one that it reads`() async throws {
    let directory = try TemporaryDirectory()
    let json = #"{"schema":"notibot.measure","version":1,"aPerSecond":1}"#
    let file = try directory.write(json, to: "a.json")
    for command in [
      ["html", file, "-o", file], ["compare", file, file, "--html", file],
      ["compare", directory.path, file, "--json", file],
      ["compare", file, directory.path, "--markdown", "\(directory.path)/./a.json"],
    ] {
      let ending = try await Program(["report"] + command).ending()
      #expect(ending.status == .exited(2) && ending.errors.contains("it is read as well"), "\(ending.errors)")
      #expect(try directory.contents(of: "a.json") == json)
    }
  }

  @Test(arguments: [
    (#"{"schema":"notibot.devices","version":1}"#, "use a JSON report of test, soak or bench"),
    (#"{"schema":"notibot.soak","version":9}"#, "update this program"),
    ("text", "use a report that was written with --json"), (nil, "check the path"),
  ])
  func `what cannot be read has a remedy of its own`(json: String?, remedy: String) async throws {
    let directory = try TemporaryDirectory()
    if let json { _ = try directory.write(json, to: "a.json") }
    let file = directory.file("a.json")
    for command in [["html", file], ["compare", file, file]] {
      let ending = try await Program(["report"] + command).ending()
      #expect(ending.status == .exited(2) && ending.errors.contains(remedy), "\(ending.errors)")
    }
  }

  @Test func `a regression has exit code 1, and is in all three files`() async throws {
    let directory = try TemporaryDirectory()
    let filter = "^\(BrokenFirmware.testCase)$"
    let good = try await run(
      "test", "--rig", "emulator", "--filter", filter, "--json", directory.file("old.json"))
    let bad = try await Program(
      ["test", "--filter", filter, "--json", directory.file("new.json")] + BrokenFirmware.rig()
    ).ending()
    #expect(good.status == .exited(0) && bad.status == .exited(1))
    let ending = try await run(
      "report", "compare", directory.file("old.json"), directory.file("new.json"), "--html",
      directory.file("c.html"),
      "--markdown", directory.file("c.md"), "--json", directory.file("c.json"))
    #expect(ending.status == .exited(1))
    #expect(ending.output.contains("WORSE  \(BrokenFirmware.testCase): passed -> failed"))
    #expect(ending.errors == "notibot: worse: 1 case\n")
    #expect(try directory.contents(of: "c.html").contains("▼ worse"))
    #expect(try directory.contents(of: "c.md").hasPrefix("## Notibot: ❌ worse\\: 1 case\n"))
    let document = try JSON(parsing: try directory.contents(of: "c.json"))
    #expect(document["schema"] == "notibot.comparison" && document["regression"] == true)
    let back = try await run(
      "report", "compare", directory.file("new.json"), directory.file("old.json"), "--json", "-")
    #expect(back.status == .exited(0))
    #expect(try JSON(parsing: back.output)["cases"].elements.first?["verdict"] == "better")
  }

  @Test func `folders are repeated runs, and what is no report is refused`() async throws {
    let directory = try TemporaryDirectory()
    for (name, rates) in [("old", [100, 101, 99]), ("new", [80, 81, 79])] {
      try FileManager.default.createDirectory(
        atPath: directory.file(name), withIntermediateDirectories: false)
      for (index, rate) in rates.enumerated() {
        let json = #"{"schema":"notibot.measure","version":1,"aPerSecond":\#(rate)}"#
        _ = try directory.write(json, to: "\(name)/\(index).json")
      }
    }
    let ending = try await run("report", "compare", directory.file("old"), directory.file("new"))
    #expect(ending.status == .exited(1))
    #expect(
      ending.output.contains("WORSE  aPerSecond: 100 -> 80.0 (-20.0 %), noise ±5, 3 and 3 runs"),
      "\(ending.output)")
    let empty = try TemporaryDirectory()
    let hostile = try directory.write("{\"schema\":\"\\u001b[2J\",\"version\":1}", to: "hostile.json")
    for path in [empty.path, "/no/such/file", hostile, directory.path] {
      let ending = try await run("report", "compare", directory.file("old"), path)
      #expect(ending.status == .exited(2), "\(path): \(ending.errors)")
      #expect(ending.errors.hasPrefix("notibot: cannot read \(path): ") && !ending.errors.hasControls)
      if path != empty.path, path != directory.path {
        #expect(try await run("report", "html", path).status == .exited(2))
      }
    }
  }
}
