import NotibotProtocol
import SuiteWire

/// Long writes without data, and to several handles.
extension Suite {
  static let attLongWrites = chapter(.att) {
    Case(
      "ATT-14/empty-value",
      "A long write of Data with only empty parts is a write of an empty value: error 0x80", also: ["NTF-4"],
      needs: [.strict]
    ) { probe, _ in
      try await probe.openWide()
      let before = try await probe.readCount()
      for parts in 1...8 {
        for _ in 0..<parts {
          let reply = try await probe.request(Wire.literal("16 0600 0000"))
          probe.expect("the answer to an empty part", reply, is: Wire.literal("17 0600 0000"))
        }
        let reply = try await probe.request(Wire.literal("18 01"))
        probe.expect(
          "the answer to Execute of \(parts) empty parts", reply, is: Wire.literal("01 18 0600 80"))
      }
      let reply = try await probe.request(Wire.literal("12 0600"))
      probe.expect("the answer to a Write Request without a value", reply, is: Wire.literal("01 12 0600 80"))
      try await probe.ofServer {
        for handle in [4, 7] as [UInt8] {
          try await probe.request([0x16, handle, 0, 0, 0])
          let reply = try await probe.request(Wire.literal("18 01"))
          probe.expect("Execute of an empty part of a CCCD", reply, is: [0x01, 0x18, handle, 0, 0x0D])
        }
      }
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
    }

    Case(
      "ATT-14/subscribed-after-data",
      "A long write of Data sends no notification if the same Execute subscribes: CCCDs come last",
      also: ["ATT-17", "NTF-10"], isOfServer: true
    ) { probe, _ in
      try await probe.openWide()
      try await probe.requireStoreRoom(1)
      let before = try await probe.readCount()
      for handle in [4, 7] as [UInt8] { try await probe.request([0x16, handle, 0, 0, 0, 1, 0]) }
      var seen: [[UInt8]] = []
      try await probe.prepare(Sample.json("with subscriptions"))
      let reply = try await probe.request(Wire.literal("18 01"), notifications: &seen)
      probe.expect("the answer to Execute", reply, is: [0x19])
      let count = try await probe.request(Wire.literal("0a 0300"), notifications: &seen)
      probe.expect("Count", count, is: [0x0B] + Wire.u16(UInt16(clamping: before + 1)))
      for handle in [4, 7] as [UInt8] {
        let value = try await probe.request([0x0A, handle, 0], notifications: &seen)
        probe.expect("the CCCD of handle \(handle)", value, is: [0x0B, 1, 0])
      }
      probe.expect("notifications from before the subscription", seen, is: [])
    }

    Case(
      "ATT-14/unsubscribed-after-data",
      "A long write of Data sends no notification if the same Execute ends the subscription",
      also: ["ATT-17"], isOfServer: true
    ) { probe, _ in
      try await probe.openWide()
      try await probe.requireStoreRoom(1)
      for handle in [4, 7] as [UInt8] {
        try await probe.request([0x12, handle, 0, 1, 0])
        try await probe.request([0x16, handle, 0, 0, 0, 0, 0])
      }
      var seen: [[UInt8]] = []
      try await probe.prepare(Sample.json("without subscriptions"))
      let reply = try await probe.request(Wire.literal("18 01"), notifications: &seen)
      probe.expect("the answer to Execute", reply, is: [0x19])
      _ = try await probe.request(Wire.literal("0a 0300"), notifications: &seen)
      _ = try await probe.request(Wire.literal("0a 0100"), notifications: &seen)
      probe.expect("notifications after the end of the subscription", seen, is: [])
    }
  }
}
