import Foundation
import Testing

/// What `doctor` reports about the Python that Bluetooth needs.
@Suite(.inTurn) struct DoctorTests {
  @Test(
    arguments: [
      (
        #"echo '{"event":"ready","name":"/ble/python3"}'"#, "good",
        "/ble/python3 can use the adapters of the kernel", nil
      ),
      (
        #"echo '{"event":"failed","what":"cannot use hciN: no sockets","fix":"name another","exit":18}'"#,
        "warning",
        "cannot use hciN: no sockets", "name another"
      ),
      ("exit 1", "warning", "the Bluetooth process ended: it printed no reason", "run this again"),
    ] as [(String, String, String, String?)])
  func `the Python of Bluetooth is good or a warning`(
    check: String, severity: String, text: String, command: String?
  )
    async throws
  {
    let directory = try TemporaryDirectory()
    let script = "#!/bin/sh\n[ \"$1\" = -c ] && exit 0\n\(check)\n"
    let python = try await directory.writeProgram(script, to: "python3")
    let ending = try await Program(["doctor", "--json"], environment: ["NOTIBOT_PYTHON": python]).ending()
    let findings = try JSON(parsing: ending.output)["findings"].elements
    let found = try #require(findings.last { $0["check"] == "Bluetooth" })
    #expect(found["severity"].string == severity)
    #expect(found["text"].string == text)
    #expect(found["command"].string == command)
  }

  @Test func `a Python without the package is named, with the command that installs it`() async throws {
    let environment = ["NOTIBOT_PYTHON": "/bin/false"]
    let ending = try await Program(["doctor"], environment: environment).ending()
    #expect(ending.output.contains("warning  cannot use Bluetooth: /bin/false has no notibot-rig[ble]\n"))
    #expect(ending.output.contains("/bin/false -m pip install 'notibot-rig[ble]'"))
  }
}
