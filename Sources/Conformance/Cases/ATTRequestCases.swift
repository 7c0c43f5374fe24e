import NotibotProtocol
import SuiteWire

/// Requests, their answers and their order; writes in one piece and in several.
extension Suite {
  static let attRequests = chapter(.att) {
    Case(
      "ATT-1/one-pdu-a-frame", "Two requests in one frame are one wrong PDU, not two requests",
      also: ["ATT-16"], isOfServer: true
    ) { probe, _ in
      try await probe.open()
      let reply = try await probe.request(Wire.literal("0a 0300 0a 0300"))
      probe.expect("the answer", reply, is: Wire.literal("01 0a 0000 04"))
      _ = try await probe.readCount()
    }

    Case(
      "ATT-6/pipelined", "As many parallel requests as the device announced are all answered, in order",
      also: ["ATT-5", "LNK-8"], needs: [.session]
    ) { probe, _ in
      try await probe.openPipelined()
      let handles = [1, 2, 3, 4, 5, 7] as [UInt8]
      let requests = (0..<probe.session.peerRequests).map { handles[$0 % handles.count] }
      var bytes: [UInt8] = []
      for handle in requests {
        bytes += probe.data([0x0C, handle, 0, 0, 0], seq: probe.session.nextSeq).bytes
        probe.session.nextSeq &+= 1
      }
      try await probe.write(bytes)
      let deadline = probe.now + Probe.patience
      for (index, handle) in requests.enumerated() {
        let reply = try await probe.nextPDU(until: deadline)
        let start: [UInt8]? =
          switch handle {
          case 1: Wire.literal("0d 4b91")
          case 2: Wire.literal("0d 1203")
          case 5: Wire.literal("0d 1806")
          case 4, 7: Wire.literal("0d 0000")
          case _: reply.map { [0x0D] + $0.dropFirst().prefix(2) }
          }
        probe.expect("answer \(index), of handle \(handle)", reply.map { Array($0.prefix(3)) }, is: start)
      }
    }

    Case(
      "ATT-6/failure-in-between", "A request that fails does not stop later ones", also: ["ATT-5"],
      needs: [.session]
    ) { probe, _ in
      try await probe.openPipelined()
      let pdus = [Wire.literal("0a 0600"), Wire.literal("0a 0100"), Wire.literal("0a 7777")]
        .prefix(probe.session.peerRequests)
      var bytes: [UInt8] = []
      for pdu in pdus {
        bytes += probe.data(pdu, seq: probe.session.nextSeq).bytes
        probe.session.nextSeq &+= 1
      }
      try await probe.write(bytes)
      let expected = [Wire.literal("01 0a 0600 02"), [0x0B] + service, Wire.literal("01 0a 7777 01")]
      let deadline = probe.now + Probe.patience
      for (index, answer) in expected.prefix(pdus.count).enumerated() {
        let reply = try await probe.nextPDU(until: deadline)
        probe.expect("answer \(index)", reply, is: answer)
      }
    }

    Case(
      "ATT-14/long-write", "A notification written in parts is stored once, when it is executed",
      also: ["ATT-18", "NTF-1"]
    ) { probe, _ in
      try await probe.open()
      try await probe.requireStoreRoom(1)
      let before = try await probe.readCount()
      // At MTU 23 a part has 18 bytes; the queue has at least 8 entries.
      let json = Array("{\"app\":\"R\",\"title\":\"S\",\"text\":\"in parts\",\"timestamp\":1}".utf8)
      for offset in stride(from: 0, to: json.count, by: 18) {
        let part = [0x06, 0] + Wire.u16(UInt16(offset)) + json[offset..<min(offset + 18, json.count)]
        let echo = try await probe.request([0x16] + part)
        probe.expect("the echo of the part at \(offset)", echo, is: [0x17] + part)
      }
      let between = try await probe.readCount()
      probe.expect("Count before Execute", between, is: before)
      let reply = try await probe.request(Wire.literal("18 01"))
      probe.expect("the answer to Execute", reply, is: [0x19])
      let after = try await probe.readCount()
      probe.expect("Count after Execute", after, is: before + 1)
    }

    Case(
      "ATT-13/513-bytes", "A write of 513 bytes to Data is error 0x0D, one of 512 is accepted",
      also: ["NTF-1"]
    ) { probe, _ in
      try await probe.openWide()
      try await probe.requireStoreRoom(1)
      try probe.requireMTU(516)
      let before = try await probe.readCount()
      let tooLong = try await probe.writeData(Sample.json(length: 513))
      probe.expect("the answer to 513 bytes", tooLong, is: Wire.literal("01 12 0600 0d"))
      let longest = try await probe.writeData(Sample.json(length: 512))
      probe.expect("the answer to 512 bytes", longest, is: [0x13])
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before + 1)
    }

    Case(
      "ATT-14/gap-in-parts", "Parts with a gap are error 0x07 at Execute, and nothing is stored"
    ) { probe, _ in
      try await probe.open()
      let before = try await probe.readCount()
      try await probe.request(Wire.literal("16 0600 0000 7b22"))
      try await probe.request(Wire.literal("16 0600 3200 227d"))
      let reply = try await probe.request(Wire.literal("18 01"))
      probe.expect("the answer to Execute", reply, is: Wire.literal("01 18 0600 07"))
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
    }

    Case(
      "ATT-14/cancelled", "Execute 0 empties the queue and writes nothing; other flags are invalid PDUs",
      also: ["ATT-16"]
    ) { probe, _ in
      try await probe.openWide()
      let before = try await probe.readCount()
      try await probe.prepare(Sample.json("cancelled"))
      let cancel = try await probe.request(Wire.literal("18 00"))
      probe.expect("the answer to Execute 0", cancel, is: [0x19])
      let execute = try await probe.request(Wire.literal("18 01"))
      probe.expect("the answer to Execute 1 of an empty queue", execute, is: [0x19])
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
    }

    Case(
      "ATT-14/parts-too-long", "Parts of more than 512 bytes together are error 0x0D at Execute"
    ) { probe, _ in
      try await probe.openWide()
      let before = try await probe.readCount()
      try await probe.prepare(Sample.json(length: 513))
      let reply = try await probe.request(Wire.literal("18 01"))
      probe.expect("the answer to Execute", reply, is: Wire.literal("01 18 0600 0d"))
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
    }

    Case("ATT-14/queue-full", "The queue accepts 8 parts; one that does not fit is error 0x09") { probe, _ in
      try await probe.open()
      var firstRefused: Int?
      for index in 0..<600 where firstRefused == nil {
        let reply = try await probe.request([0x16, 6, 0] + Wire.u16(UInt16(index * 2)) + [0x20, 0x20])
        guard reply.first != 0x17 else { continue }
        firstRefused = index
        probe.expect("the answer when it is full", reply, is: Wire.literal("01 16 0600 09"))
      }
      guard let firstRefused else { throw CaseEnd.skip("the queue accepts 600 parts") }
      probe.expect(firstRefused >= 8, "part \(firstRefused) was the first to be refused, expected 8 or later")
      try await probe.request(Wire.literal("18 00"))
      let again = try await probe.request(Wire.literal("16 0600 0000 20"))
      probe.expect("a part after the queue was emptied", again, is: Wire.literal("17 0600 0000 20"))
    }

    Case("ATT-14/two-handles", "Parts for different handles make one write for each", isOfServer: true) {
      probe, _ in
      try await probe.openWide()
      try await probe.requireStoreRoom(1)
      let before = try await probe.readCount()
      try await probe.request(Wire.literal("16 0400 0000 0100"))
      try await probe.prepare(Sample.json("two handles"))
      let reply = try await probe.request(Wire.literal("18 01"))
      probe.expect("the answer to Execute", reply, is: [0x19])
      let cccd = try await probe.request(Wire.literal("0a 0400"))
      probe.expect("the CCCD", cccd, is: Wire.literal("0b 0100"))
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before + 1)
    }

    Case(
      "ATT-14/two-handles-refused", "If one of two values is refused at Execute, neither is written",
      also: ["ATT-12", "NTF-1"], needs: [.strict], isOfServer: true
    ) { probe, _ in
      try await probe.openWide()
      try await probe.requireStoreRoom(1)
      let before = try await probe.readCount()
      try await probe.prepare(Sample.json("with a bad CCCD"))
      try await probe.request(Wire.literal("16 0400 0000 0200"))
      let badCCCD = try await probe.request(Wire.literal("18 01"))
      probe.expect("the answer with a bad CCCD", badCCCD, is: Wire.literal("01 18 0400 fd"))
      try await probe.request(Wire.literal("16 0400 0000 0100"))
      try await probe.request(Wire.literal("16 0600 0000 7b"))
      let badJSON = try await probe.request(Wire.literal("18 01"))
      probe.expect("the answer with bad JSON", badJSON, is: Wire.literal("01 18 0600 80"))
      let cccd = try await probe.request(Wire.literal("0a 0400"))
      probe.expect("the CCCD", cccd, is: Wire.literal("0b 0000"))
      let after = try await probe.readCount()
      probe.expect("Count", after, is: before)
    }

    Case("ATT-14/empty-after-error", "After a failed Execute the queue is empty") { probe, _ in
      try await probe.open()
      try await probe.request(Wire.literal("16 0600 0500 7b22"))
      let failed = try await probe.request(Wire.literal("18 01"))
      probe.expect("the answer to parts that begin at 5", failed, is: Wire.literal("01 18 0600 07"))
      let empty = try await probe.request(Wire.literal("18 01"))
      probe.expect("the answer to Execute of the empty queue", empty, is: [0x19])
    }
  }
}
