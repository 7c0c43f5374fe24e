import Conformance
import NotibotHost
import NotibotProtocol
import SuiteWire

/// How the host writes notifications, and how it handles those of the device.
extension HostSuite {
  static let hostNotifications = Suite.chapter(.notifications) {
    Case.ofHost(
      "NTF-6/host-json", "Four keys in order, no white space, escapes only where JSON needs them",
      also: ["NTF-5", "ATT-1"]
    ) { device, probe in
      try await device.open()
      let vectors: [(DisplayNotification, String)] = [
        (
          DisplayNotification(
            app: "Messages", title: "Jane Doe", text: "See you tomorrow!", timestamp: 1_234_567_890),
          "{\"app\":\"Messages\",\"title\":\"Jane Doe\",\"text\":\"See you tomorrow!\",\"timestamp\":1234567890}"
        ),
        (
          DisplayNotification(app: "a/b", title: "\"\\", text: "é€😀", timestamp: 4_294_967_295),
          "{\"app\":\"a/b\",\"title\":\"\\\"\\\\\",\"text\":\"é€😀\",\"timestamp\":4294967295}"
        ),
        (
          DisplayNotification(app: "", title: "\u{0}\u{7F}", text: "", timestamp: 0),
          "{\"app\":\"\",\"title\":\"\u{FFFD}\u{7F}\",\"text\":\"\",\"timestamp\":0}"
        ),
      ]
      for (notification, json) in vectors {
        let pdu = try await Self.written(notification, device)
        probe.expect("the request", pdu, is: [0x12, 6, 0] + Array(json.utf8))
      }
      let pdu = try await Self.written(
        DisplayNotification(app: "a", title: "b", text: "\u{8}\t\n\u{C}\r\u{1}\u{1F}", timestamp: 1), device)
      let text = String(decoding: pdu.dropFirst(3), as: UTF8.self)
      let controls = "\\b\\t\\n\\f\\r\\u0001\\u001f"
      probe.expect(
        "controls", text, is: "{\"app\":\"a\",\"title\":\"b\",\"text\":\"\(controls)\",\"timestamp\":1}")
    }

    Case.ofHost(
      "NTF-7/host-cuts", "The host cuts app, title and text at whole characters, with …, to 512 bytes",
      also: ["NTF-3"]
    ) { device, probe in
      try await device.open()
      let family = "👨‍👩‍👧‍👦"
      let long = DisplayNotification(
        app: String(repeating: "a", count: 100), title: String(repeating: "é", count: 100),
        text: String(repeating: family, count: 60), timestamp: 1)
      let pdu = try await Self.written(long, device)
      let json = String(decoding: pdu.dropFirst(3), as: UTF8.self)
      probe.expect(pdu.count - 3 <= 512, "the JSON has \(pdu.count - 3) bytes")
      // 61 and 3 for the mark make 64; 62 é of 2 bytes and the mark make 127, one more would make
      // 129.
      let head =
        "{\"app\":\"\(String(repeating: "a", count: 61))…\",\"title\":\"\(String(repeating: "é", count: 62))…\",\"text\":\""
      probe.expect(json.hasPrefix(head), "app and title are cut to \(json.prefix(220))")
      let tail = "…\",\"timestamp\":1}"
      probe.expect(json.hasSuffix(tail), "the JSON ends in \(json.suffix(40))")
      let room = 512 - head.utf8.count - tail.utf8.count
      let text = json.dropFirst(head.count).dropLast(tail.count)
      probe.expect(
        "whole families kept", String(text), is: String(repeating: family, count: room / family.utf8.count))
    }

    Case.ofHost(
      "NTF-11/host-events", "Dismissals, actions and counts are reported; other keys are ignored",
      also: ["NTF-10", "ATT-17"]
    ) { device, probe in
      try await device.open()
      let subscription = device.submit(.subscribe(.all))
      var written: [[UInt8]] = []
      let deadline = probe.now + Probe.patience
      while device.host.results[subscription] == nil, let pdu = try await probe.nextPDU(until: deadline) {
        written.append(pdu)
        try await probe.sendData(ScriptedServer.answer(to: pdu, mtu: 517) ?? [])
      }
      let writes = Set(written.filter { $0.first == 0x12 })
      probe.expect(
        "writes of CCCDs", writes, is: [Wire.literal("12 0400 0100"), Wire.literal("12 0700 0100")])
      try await probe.sendData(Wire.literal("1b 0300 0201"))
      try await probe.sendData([0x1B, 6, 0] + Array("{\"ev\":\"dismissed\",\"item\":17,\"x\":[1]}".utf8))
      try await probe.sendData([0x1B, 6, 0] + Array("{ \"act\":2, \"item\":3, \"ev\":\"action\" }".utf8))
      probe.expect(
        "events", device.host.events,
        is: [.countChanged(258), .device(.dismissed(item: 17)), .device(.action(item: 3, act: 2))])
    }

    Case.ofHost(
      "NTF-11/host-hostile-events",
      "Bad JSON and unknown events on Data are passed on as unknown; bad PDUs are ignored", also: ["ATT-16"]
    ) { device, probe in
      try await device.open()
      let subscription = device.submit(.subscribe(.all))
      try await device.serve { device.host.results[subscription] != nil }
      let payloads =
        [
          "", "{", "[1]", "{\"ev\":\"burnt\",\"item\":1}", "{\"ev\":7}", "{\"ev\":\"dismissed\"}",
          "{\"ev\":\"dismissed\",\"item\":-1}", String(repeating: "[", count: 500),
        ].map { Array($0.utf8) } + [[0xFF, 0xFE], [0x1B, 0x5B, 0x32, 0x4A]]
      for payload in payloads { try await probe.sendData([0x1B, 6, 0] + payload) }
      for (index, payload) in payloads.enumerated() where index < device.host.events.count {
        probe.expect("event \(index)", device.host.events[index], is: .device(.unknown(payload)))
      }
      probe.expect("events", device.host.events.count, is: payloads.count)
      for pdu in ["1b", "1b 03", "1b 0300", "1b 0300 01", "1b 0900 0100"] {
        try await probe.sendData(Wire.literal(pdu))
      }
      probe.expect("events after bad PDUs", device.host.events.count, is: payloads.count)
      probe.expect("ends", device.host.ends, is: [])
    }
  }

  /// Submits a notification and returns its single request, which is answered with success.
  private static func written(_ notification: DisplayNotification, _ device: HostBench) async throws
    -> [UInt8]
  {
    let probe = device.probe
    let id = device.submit(.send(notification))
    let deadline = probe.now + Probe.patience
    let pdu = try probe.require(
      try await probe.nextPDU(until: deadline), "the host writes nothing for \(notification)")
    try await probe.sendData([0x13])
    probe.expect("the result", device.host.results[id], is: .accepted)
    return pdu
  }
}
