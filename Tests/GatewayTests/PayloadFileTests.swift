import GatewayRules
import Testing

/// What a person writes: files, keys, samples.
@Suite struct PayloadFileTests {
  @Test(arguments: [
    "{\"Simulator Target Bundle\":\"a.b\",\"aps\":{\"alert\":\"x // y\"}}",
    "\u{FEFF}{\"Simulator Target Bundle\":\"a.b\",\"aps\":{\"alert\":\"x // y\"}}",
    "// test-approval.apns\n{\"Simulator Target Bundle\":\"a.b\",\n  # a remark\n\"aps\":{\"alert\":\"x // y\"}}\n",
    "\u{FEFF}// first\r\n{\"Simulator Target Bundle\":\"a.b\",\r\n\"aps\":{\"alert\":\"x // y\"}}\r\n",
  ])
  func `a file can begin with a mark, and have lines of comments`(text: String) throws {
    let file = try PayloadFile(parsing: Array(text.utf8))
    #expect(
      file.topic == "a.b" && String(decoding: file.body, as: UTF8.self) == #"{"aps":{"alert":"x // y"}}"#)
  }

  @Test(arguments: ["", "[]", "// only\n", "{\"a\":1} // behind"])
  func `a file that is no object is refused`(text: String) {
    #expect(throws: InputProblem.self) { try PayloadFile(parsing: Array(text.utf8)) }
  }

  static let key = String(repeating: "MIGHAgEAMBMGByqGSM49n", count: 8)
  static let pem: String = {
    let lines = stride(from: 0, to: key.count, by: 64).map { key.dropFirst($0).prefix(64) }
    return (["-----BEGIN PRIVATE KEY-----"] + lines + ["-----END PRIVATE KEY-----", ""]).joined(
      separator: "\n")
  }()

  @Test(arguments: [
    pem, pem.replacing("\n", with: "\\n"), pem.replacing("\n", with: "\\r\\n"),
    pem.replacing("\n", with: "\r\n"),
    "APNS_PRIVATE_KEY=\"\(pem)\"\nOTHER=1", "export APNS_PRIVATE_KEY='\(pem.replacing("\n", with: "\\n"))'",
    pem.replacing("\n", with: " "), pem.replacing("\n", with: "\n    "), pem.replacing("\n", with: "\\\\n"),
    "-----BEGIN EC PARAMETERS-----\nBggq\n-----END EC PARAMETERS-----\n\(pem)", "\u{FEFF}\(pem)",
  ])
  func `a key is found as it stands in files and environments`(text: String) {
    #expect(PEMText.normalized(text) == Self.pem)
  }

  @Test(arguments: [
    "", "AuthKey.p8", "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----",
  ])
  func `what is no key has none`(text: String) {
    #expect(PEMText.normalized(text) == nil)
  }

  @Test(arguments: PushSample.all)
  func `each sample is shown or clears, with the profile of its sender and without remarks`(
    sample: PushSample
  ) throws {
    let now = ProfileTests.now
    let profile = try ProfileTests.profile(String(sample.name.prefix { $0 != "/" }))
    #expect(profile.topics == [sample.topic])
    let body = Array(sample.body(now: now).utf8)
    let reading = try profile.reading(of: body, PushHead(topic: sample.topic, apnsID: nil), now: now)
    #expect(reading.meaning != .nothing() && reading.remarks.isEmpty)
  }

  @Test func `an explanation has what the display would get, and why not`() throws {
    let profile = try ProfileTests.profile("codingbridge")
    func explanation(_ json: String) -> PushExplanation {
      profile.explanation(of: Array(json.utf8), PushHead(topic: "t", apnsID: nil), now: ProfileTests.now)
    }
    let shown = explanation(
      #"{"aps":{"alert":"a","category":"APPROVAL_REQUEST","badge":-1},"requestId":"1"}"#)
    #expect(shown.reason == nil && shown.value["verdict"]?.string == "shown")
    #expect(shown.value["display"]?["act"]?.line == #"["Approve","Deny"]"#)
    #expect(shown.value["remarks"]?.array?.first?["place"]?.string == "aps.badge")
    let refused = explanation(#"{"aps":{"alert":5}}"#)
    #expect(refused.reason == .payloadEmpty && refused.value["display"] == nil)
    #expect(explanation(#"{"clearApprovalId":"1"}"#).value["removes"]?.line == #"["approval-1"]"#)
    #expect(explanation(String(repeating: " ", count: 4097)).reason == .payloadTooLarge)
  }
}
