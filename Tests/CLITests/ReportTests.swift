import Foundation
import FoundationXML
import Glibc
import Testing

/// `notibot test`, `bench` and `devices`: their machine-readable output.
@Suite(.inTurn) struct ReportTests {
  @Test func `the list has one line per case, in columns`() async throws {
    let ending = try await run("test", "--list")
    #expect(ending.status == .exited(0))
    #expect(ending.errors == "")
    let rows = ending.lines.map { $0.split(separator: "\t", omittingEmptySubsequences: false) }
    #expect(rows.count >= 60)
    #expect(rows.allSatisfy { $0.count == 5 && !$0[0].isEmpty && !$0[1].isEmpty && !$0[2].isEmpty })
    #expect(Set(rows.map { $0[1] }).count == rows.count)
    let chapters = ["Framing", "Link", "ATT", "Notifications", "Throughput", "Reconnection"]
    #expect(Set(rows.map { String($0[0]) }).isSuperset(of: chapters))
  }

  @Test func `a filter lists and runs what matches`() async throws {
    let list = try await run("test", "--list", "--filter", "^FRM-1/")
    #expect(!list.lines.isEmpty)
    #expect(list.lines.allSatisfy { $0.contains("\tFRM-1/") })
    let directory = try TemporaryDirectory()
    let report = directory.file("report.json")
    let ending = try await run(
      "test", "--rig", "emulator", "--filter", "^FRM-1/", "--json", report, "--seed", "5")
    #expect(ending.status == .exited(0))
    let document = try JSON(parsing: try directory.contents(of: "report.json"))
    #expect(document["totals"]["cases"] == .number(Double(list.lines.count)))
    #expect(document["totals"]["passed"] == document["totals"]["cases"])
    #expect(document["seed"] == 5)
  }

  @Test func `both reports are written and agree`() async throws {
    let directory = try TemporaryDirectory()
    let ending = try await run(
      "test", "--rig", "emulator", "--filter", "^LNK-1", "--junit", directory.file("j.xml"), "--json",
      directory.file("j.json"))
    #expect(ending.status == .exited(0))
    let junit = try JUnit(parsing: try directory.contents(of: "j.xml"))
    let totals = try JSON(parsing: try directory.contents(of: "j.json"))["totals"]
    #expect(totals["cases"] == .number(Double(junit.cases)))
    #expect(junit.attributes["tests"] == "\(junit.cases)")
    #expect(junit.attributes["failures"] == "0" && junit.attributes["errors"] == "0")
    #expect(junit.cases > 5)
    #expect(junit.skips == Int(totals["skipped"].number ?? -1))
  }

  @Test(arguments: ["/dev/no-such-port", "silent"])
  func `without a rig the reports are written too, with an error`(port: String)
    async throws
  {
    let directory = try TemporaryDirectory()
    let terminal = try ControlledTerminal()
    let ending = try await run(
      "test", "-p", port == "silent" ? terminal.path : port, "--junit", directory.file("j.xml"), "--json",
      directory.file("j.json"))
    #expect(ending.status == .exited(port == "silent" ? 13 : 10))
    #expect(ending.errorLines.count == 1)
    let junit = try JUnit(parsing: try directory.contents(of: "j.xml"))
    #expect(junit.cases == 1 && junit.errors == 1 && junit.failures == 0)
    #expect(junit.attributes["errors"] == "1")
    let document = try JSON(parsing: try directory.contents(of: "j.json"))
    #expect(document["rigTrouble"].string.map { ending.errors.contains($0) } == true)
  }

  @Test func `a report that cannot be written is the environment's fault`() async throws {
    let ending = try await run(
      "test", "--rig", "emulator", "--filter", "^FRM-1/", "--junit", "/no/such/place/j.xml")
    #expect(ending.status == .exited(18))
    #expect(ending.errorLines.count == 1)
    #expect(ending.errors.contains("cannot write /no/such/place/j.xml"))
  }

  @Test func `a FIFO in a folder of reports is left out`() async throws {
    let directory = try TemporaryDirectory()
    _ = try directory.write(#"{"schema":"notibot.measure","version":1,"aPerSecond":100}"#, to: "a.json")
    #expect(mkfifo(directory.file("b.json"), 0o600) == 0)
    let equal = try await run("report", "compare", directory.path, directory.path)
    #expect(equal.status == .exited(0), "\(equal.errors)")
    try FileManager.default.removeItem(atPath: directory.file("a.json"))
    let empty = try await run("report", "compare", directory.path, directory.path)
    #expect(empty.status == .exited(2))
    #expect(empty.errors.contains("it has 0 files *.json"), "\(empty.errors)")
  }

  @Test func `a run over a port passes on a good device`() async throws {
    try await withEmulator { emulator in
      let ending = try await run(
        "test", "-p", emulator.port, "--control", emulator.control, "--filter", "^ATT-5/", "--verbose")
      #expect(ending.status == .exited(0), "\(ending.output)")
      #expect(ending.output.contains("ATT-5/"))
      try await expectFree(emulator)
    }
  }

  @Test func `--quick runs a part, and says so`() async throws {
    let directory = try TemporaryDirectory()
    let ending = try await run(
      "test", "-p", "emu:", "--quick", "--junit", directory.file("j.xml"), "--json", directory.file("j.json"))
    #expect(ending.status == .exited(0), "\(ending.output)")
    #expect(ending.lines.count <= 30)
    let part = try #require(JSON(parsing: try directory.contents(of: "j.json"))["part"].string)
    #expect(part.contains(/^--quick: \d+ of \d+ cases$/) && ending.output.contains(part))
    #expect(try directory.contents(of: "j.xml").contains("<testsuites name=\"notibot conformance, \(part)\""))
  }

  @Test func `--trace writes what passed, and refuses a folder that cannot be written`() async throws {
    let directory = try TemporaryDirectory()
    let folder = directory.file("trace")
    let ending = try await run("test", "-p", "emu:", "--filter", "^ATT-5/writes-in-order$", "--trace", folder)
    #expect(ending.status == .exited(0), "\(ending.errors)")
    let sent = try Data(contentsOf: URL(fileURLWithPath: folder + "/ATT-5_writes-in-order.to-device.bin"))
    // A SYN between zeros.
    #expect(sent.first == 0 && sent.contains(Data("NBOT".utf8)))
    let capture = try Data(contentsOf: URL(fileURLWithPath: folder + "/ATT-5_writes-in-order.pcapng"))
    #expect(capture.starts(with: [0x0A, 0x0D, 0x0D, 0x0A, 28, 0, 0, 0, 0x4D, 0x3C, 0x2B, 0x1A]))
    var blocks: [UInt32] = []
    var offset = 0
    while offset + 12 <= capture.count {
      let words = [0, 4].map { start in
        (0..<4).reduce(UInt32(0)) { $0 | UInt32(capture[offset + start + $1]) << (8 * UInt32($1)) }
      }
      blocks.append(words[0])
      offset += Int(words[1])
    }
    #expect(
      offset == capture.count && blocks.prefix(2) == [0x0A0D_0D0A, 1] && Set(blocks.dropFirst(2)) == [6])
    let refused = try await run("test", "-p", "emu:", "--trace", "/proc/trace")
    #expect(refused.status == .exited(18) && refused.output == "", "\(refused.errors)")
  }

  @Test func `an interrupted run writes its reports and ends its emulator`() async throws {
    let directory = try TemporaryDirectory()
    let program = try Program([
      "test", "--rig", "pty", "-v", "--junit", directory.file("j.xml"), "--json", directory.file("j.json"),
    ])
    // The heading, and the line of the first case.
    _ = try await program.output.line(4)
    program.send(SIGINT)
    let ending = await program.ending()
    #expect(ending.status == .exited(130))
    let junit = try JUnit(parsing: try directory.contents(of: "j.xml"))
    let cases = try JSON(parsing: try directory.contents(of: "j.json"))["cases"].elements.count
    // One more, which marks the run as incomplete.
    #expect(cases >= 1 && junit.cases == cases + 1)
    #expect(junit.errors == 1 && junit.attributes["errors"] == "1")
    let left = try FileManager.default.contentsOfDirectory(atPath: "/tmp")
    #expect(!left.contains { $0.hasPrefix("notibot-rig-\(program.pid)-") })
  }

  @Test func `a bench reports its measurements`() async throws {
    try await withEmulator("--profile", "bench") { emulator in
      let ending = try await run(
        "bench", "-p", emulator.port, "--count", "200", "--trips", "20", "--window", "8", "--line-rate",
        "921600",
        "--peer-pid", "\(emulator.program.pid)", "--json")
      #expect(ending.status == .exited(0))
      #expect(ending.errors == "")
      let report = try JSON(parsing: ending.output)
      #expect(report["schema"] == "notibot.bench" && report["version"] == 1)
      #expect(report["count"] == 200 && report["accepted"] == 200 && report["refused"] == 0)
      #expect(report["window"] == 8 && report["lineBitsPerSecond"] == 921_600)
      for key in [
        "seconds", "notificationsPerSecond", "bytesPerSecond", "lineShare", "residentBytesStart",
        "residentBytesEnd",
      ] {
        #expect((report[key].number ?? 0) > 0, "\(key)")
      }
      #expect(report["peerCPUMicrosecondsPerNotification"].number != nil)
      let trips = report["roundTripMicroseconds"]
      let (p50, p99, max) = (trips["p50"].number ?? 0, trips["p99"].number ?? 0, trips["max"].number ?? 0)
      #expect(0 < p50 && p50 <= p99 && p99 <= max)
      // The count and the trips, and those for warming up.
      let stored = try await emulator.statistics()["count"].number
      #expect((stored ?? 0) >= 220)
    }
  }

  @Test func `a bench without trips or line has no figures for them`() async throws {
    let ending = try await run("bench", "-p", "emu:bench", "--count", "50", "--trips", "0", "--json")
    #expect(ending.status == .exited(0))
    let report = try JSON(parsing: ending.output)
    #expect(report["roundTripMicroseconds"] == .null && report["lineShare"] == .null)
  }

  @Test func `a bench reports a refusal by the device`() async throws {
    let ending = try await run("bench", "-p", "emu:tiny", "--count", "10", "--trips", "0", "--json")
    #expect(ending.status == .exited(15))
    #expect(try JSON(parsing: ending.output)["refused"] == 10)
    #expect(ending.errorLines.count == 1)
  }

  @Test func `the list of devices has its shape, with or without boards`() async throws {
    let ending = try await run("devices", "--json")
    #expect(ending.status == .exited(0))
    #expect(ending.errors == "")
    let document = try JSON(parsing: ending.output)
    #expect(document["schema"] == "notibot.devices" && document["version"] == 1)
    guard case .array(let ports) = document["ports"] else {
      Issue.record("no list of ports in \(ending.output)")
      return
    }
    for port in ports {
      #expect(port["port"].string?.hasPrefix("/dev/") == true)
      #expect(port["isKnownBoard"] == true || port["isKnownBoard"] == false)
    }
    let text = try await run("devices")
    #expect(text.status == .exited(0))
    for port in ports { #expect(text.output.contains(port["port"].string ?? "a path")) }
  }
}

/// The content of a JUnit file for a CI server. Refuses malformed XML.
struct JUnit {
  var attributes: [String: String] = [:]
  var cases = 0
  var failures = 0
  var errors = 0
  var skips = 0

  init(parsing text: String) throws {
    let reader = Reader()
    let parser = XMLParser(data: Data(text.utf8))
    parser.delegate = reader
    guard parser.parse() else { throw parser.parserError ?? SystemError("parse JUnit", number: EINVAL) }
    attributes = reader.attributes
    (cases, failures) = (reader.counts["testcase", default: 0], reader.counts["failure", default: 0])
    (errors, skips) = (reader.counts["error", default: 0], reader.counts["skipped", default: 0])
  }

  private final class Reader: NSObject, XMLParserDelegate {
    var counts: [String: Int] = [:]
    var attributes: [String: String] = [:]

    func parser(
      _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
      attributes: [String: String]
    ) {
      counts[name, default: 0] += 1
      if name == "testsuites" { self.attributes = attributes }
    }
  }
}
