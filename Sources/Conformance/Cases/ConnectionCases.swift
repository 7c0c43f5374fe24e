import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// The differences if the bearer is a connection, as over BLE: there is no SYN, and no SYNC.
extension Suite {
  static let connections = chapter(.notifications) {
    Case(
      "NTF-21/src-key-required", "Over BLE an id needs the key src, and the optional keys are always in use",
      also: ["NTF-20", "NTF-4"], needs: [.connection, .strict]
    ) { probe, _ in
      try await probe.openWide()
      try await probe.requireStoreRoom(1)
      let before = try await probe.readCount()
      let source = probe.makeSource()
      let refused = [
        Sample.json(id: 1), Sample.removal(id: 1), Sample.json(id: 1, more: ",\"src\":0"),
        Sample.json(id: 0, more: ",\"src\":\(source)"),
        Sample.json(id: 1, more: ",\"src\":\(source),\"lvl\":4"),
      ]
      for json in refused {
        let reply = try await probe.writeData(json)
        probe.expect(
          "the answer to \(String(decoding: json.dropFirst(60), as: UTF8.self))", reply,
          is: Wire.literal("01 12 0600 80"))
      }
      let between = try await probe.readCount()
      probe.expect("Count after the refused ones", between, is: before)
      try await probe.expectWritten(Sample.json(id: 1, more: ",\"src\":\(source)"), "one with src")
      let after = try await probe.readCount()
      probe.expect("Count after one with src", after, is: before + 1)
    }

    Case(
      "NTF-23/over-ble", "Over BLE too, an identity is stored once, changed by a higher rev and removed",
      also: ["NTF-24", "NTF-10", "NTF-12"], needs: [.connection, .strict]
    ) { probe, _ in
      try await probe.openWide()
      try await probe.requireStoreRoom(2)
      let before = try await probe.readCount()
      let source = probe.makeSource()
      let member = ",\"src\":\(source)"
      let first = Sample.json(id: 1, "first", more: member)
      try await probe.expectWritten(first)
      try await probe.expectWritten(Sample.json(id: 2, more: member))
      // A connection that was lost and re-established is the usual reason to write twice.
      try await probe.openWide()
      try await probe.expectWritten(first, "the same again")
      let other = try await probe.writeData(Sample.json(id: 1, "other bytes", more: member))
      probe.expect("the answer to other bytes of the same rev", other, is: Wire.literal("01 12 0600 81"))
      try await probe.expectWritten(Sample.json(id: 1, "changed", more: ",\"rev\":1\(member)"), "a change")
      let changed = try await probe.readCount()
      probe.expect("Count after two ids", changed, is: before + 2)
      try await probe.expectWritten(Sample.removal(id: 1, more: member), "a removal")
      let after = try await probe.readCount()
      probe.expect("Count after the removal", after, is: before + 1)
    }

    Case(
      "NTF-26/over-ble", "Over BLE a dismissal is reported with id and src if it fits, and not at MTU 23",
      also: ["NTF-11", "ATT-17"], needs: [.connection, .control, .strict]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await bench.restart()
      try await probe.openWide()
      try probe.requireEventRoom()
      let source = probe.makeSource()
      for id in 1...2 as ClosedRange<UInt32> {
        try await probe.expectWritten(Sample.json(id: id, more: ",\"src\":\(source)"))
      }
      try await probe.request(Wire.literal("12 0700 0100"))
      try await control.perform(.dismiss(1))
      let unsolicited = try await probe.listen()
      probe.expect("events of item 1", unsolicited.count("dismissed", source, 1, item: 1), is: 1)
      probe.expect("all notifications", unsolicited.items.count, is: 1)
      try await probe.open()
      try await probe.request(Wire.literal("12 0700 0100"))
      try await control.perform(.dismiss(2))
      let narrow = try await probe.listen()
      probe.expect("notifications at MTU 23", narrow.items, is: [])
    }
  }
}
