import NotibotProtocol
import SuiteWire

/// Notifications of Count and Data that wait to be sent.
extension Suite {
  static let deliveryQueues = chapter(.delivery) {
    Case(
      "ATT-12/unsubscribing-drops",
      "Writing 0 to a CCCD drops its queued notifications, even if 1 is written next",
      also: ["ATT-17", "LNK-44"]
    ) { probe, _ in
      // Queues a change of Count, then an event: the second notification has expired when it
      // arrives.
      for (handle, more) in [(4, ""), (7, ",\"exp\":\(Sample.noon - 10)")] as [(UInt8, String)] {
        let tlvs = Probe.synTLVs(nonce: probe.makeNonce(), features: Probe.deliveryFeatures, frames: 2)
        try await probe.openWide(tlvs + [.source(probe.makeSource()), .clock(Sample.noon)])
        try probe.requireFeatures(Probe.deliveryFeatures)
        try probe.requireEventRoom()
        let write = [0x12, 6, 0] + Sample.json(id: 1, more: more)
        try probe.requireMTU(write.count)
        try await probe.requireStoreRoom(1)
        // One frame at a time, and none after the answer to the write.
        probe.session.credit = 1
        try await probe.request([0x12, handle, 0, 1, 0])
        probe.session.credit = 0
        let reply = try await probe.request(write)
        probe.expect("the answer to the write", reply, is: [0x13])
        try await probe.sendData([0x12, handle, 0, 0, 0])
        let sent = probe.session.nextSeq
        _ = try await probe.ask(probe.frame(.ping), "PONG that counts the end of the subscription as handled")
        {
          $0.kind == .pong && $0.payload.first == sent
        }
        // A device with room for one answer handles this one later (LNK-44).
        try await probe.sendData([0x12, handle, 0, 1, 0])
        _ = try await probe.fence()
        for value in 0...1 {
          try await probe.grant(1)
          let answer = try await probe.nextPDU(until: probe.now + Probe.patience)
          probe.expect("the answer to \(value), written to handle \(handle)", answer, is: [0x13])
        }
        try await probe.grant(2)
        let later = try await probe.listen(for: .milliseconds(300))
        probe.expect("notifications after it", later.items, is: [])
        probe.session.credit = 2
        try await probe.write(probe.frame(.ack))
        try await probe.expectWritten(Sample.removal(id: 1), "the removal")
      }
    }

    Case(
      "ATT-19/reports-take-no-places",
      "However many are gone, a SYNC reports all of them, and sends no RESYNC",
      also: ["NTF-26", "NTF-31", "NTF-33"]
    ) { probe, _ in
      let source = probe.makeSource()
      try await probe.openDelivery(source: source, clock: Sample.noon)
      // More than the 8 places that each device has for waiting notifications.
      let count = UInt32(try await probe.storeRoom(9...24))
      for id in 1...count {
        try await probe.expectWritten(Sample.json(id: id, more: ",\"exp\":\(Sample.noon - 10)"))
      }
      // They were reported when they were written.
      _ = try await probe.listen()
      var unsolicited = Unsolicited()
      try await probe.sync(Sync(source, known: count), unsolicited: &unsolicited)
      try await probe.listen(into: &unsolicited)
      probe.expect("ids reported at SYNC", unsolicited.goneIDs(source).sorted(), is: Array(1...count))
      probe.expect("RESYNCs", unsolicited.messages.filter { $0.first == 3 }, is: [])
      for id in 1...count { try await probe.expectWritten(Sample.removal(id: id), "the removal") }
    }
  }
}
