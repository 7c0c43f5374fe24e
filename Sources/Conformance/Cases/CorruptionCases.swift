import NotibotProtocol
import SuiteWire

/// Corruption on the way to the device: bits flipped, bytes lost, lines spliced in, noise.
extension Suite {
  static let corruption = chapter(.framing) {
    Case(
      "FRM-3/every-bit-flip",
      "Any one bit flipped in three frames: the corrupted one is lost, no other, and no frame is invented",
      also: ["FRM-1", "FRM-6"]
    ) { probe, bench in
      try await probe.open()
      let ping = probe.frame(.ping).bytes
      let stream = ping + ping + ping
      // In real time a sample: every bit is flipped once in three runs with other seeds.
      let stride = bench.hasVirtualTime ? 1 : 3
      for bit in Swift.stride(from: Int(bench.seed % UInt64(stride)), to: stream.count * 8, by: stride) {
        var corrupted = stream
        corrupted[bit / 8] ^= 1 << UInt8(bit % 8)
        try await probe.write(corrupted)
        let answers = try await probe.requestFence()
        probe.expect(
          (2...3).contains(answers.count) && answers.allSatisfy { $0.kind == .pong },
          "bit \(bit) flipped in three PINGs: answers are \(answers.map(\.kind))")
      }
    }

    Case(
      "FRM-1/every-byte-loss", "Any one byte lost from three frames costs at most its frame", also: ["FRM-6"]
    ) { probe, _ in
      try await probe.open()
      let ping = probe.frame(.ping).bytes
      for index in 0..<(ping.count * 3) {
        var corrupted = ping + ping + ping
        corrupted.remove(at: index)
        try await probe.write(corrupted)
        let answers = try await probe.requestFence()
        let isZero = index % ping.count == 0 || index % ping.count == ping.count - 1
        // A lost zero is replaced by its neighbour: nothing is lost.
        let expected = isZero ? 3...3 : 2...2
        probe.expect(
          expected.contains(answers.count) && answers.allSatisfy { $0.kind == .pong },
          "byte \(index) lost from three PINGs: answers are \(answers.map(\.kind))")
      }
    }

    Case(
      "FRM-6/loss-of-1-to-128-bytes", "A run of 1 to 128 bytes lost costs at most the affected frames"
    ) { probe, bench in
      try await probe.open()
      let ping = probe.frame(.ping).bytes
      let frames = 14
      let stride = bench.hasVirtualTime ? 1 : 7
      for length in Swift.stride(from: 1, through: 128, by: stride) {
        let start = Int(probe.random.next() % UInt64(ping.count * frames - length))
        var corrupted = (0..<frames).flatMap { _ in ping }
        corrupted.removeSubrange(start..<(start + length))
        let touched = (start + length - 1) / ping.count - start / ping.count + 1
        try await probe.write(corrupted)
        let answers = try await probe.requestFence()
        probe.expect(
          answers.count >= frames - touched && answers.count <= frames
            && answers.allSatisfy { $0.kind == .pong },
          "\(length) bytes lost at \(start), \(touched) frames affected: \(answers.count) of \(frames) answered"
        )
      }
    }

    Case(
      "FRM-6/log-line-inside-a-frame",
      "A line spliced into a frame costs that frame and no other, at any position"
    ) { probe, _ in
      try await probe.open()
      let ping = probe.frame(.ping).bytes
      let line = Array("E (4711) wifi: out of memory\r\n".utf8)
      for index in 1..<ping.count {
        try await probe.write(ping + ping[..<index] + line + ping[index...] + ping)
        let answers = try await probe.requestFence()
        probe.expect("answers with a line at byte \(index)", answers.map(\.kind), is: [.pong, .pong])
      }
    }

    Case(
      "FRM-13/megabytes-of-noise", "Megabytes of noise have no effect: the session continues", also: ["FRM-6"]
    ) { probe, bench in
      try await probe.open()
      var random = SeededGenerator(seed: bench.seed)
      // A line with a real rate takes time for each byte; there fewer are used.
      var isSlow = false
      for block in 0..<256 where !isSlow || block < 8 {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(8192)
        for _ in 0..<1024 { bytes += Wire.u64(random.next()) }
        let start = probe.now
        try await probe.line.write(bytes)
        if isSlow || block % 16 == 0 {
          try await probe.write([0])
          let answers = try await probe.requestFence()
          probe.expect("answers to noise", answers.filter { $0.kind != .ping }, is: [])
          if block == 0 { isSlow = probe.now - start > .milliseconds(100) }
        }
      }
      let length = isSlow ? 4000 : 100_000
      try await probe.line.write([UInt8](repeating: 0x55, count: length) + [0])
      try await probe.line.write([UInt8](repeating: 0, count: length))
      let answers = try await probe.requestFence()
      probe.expect("answers to 0x55s and zeros", answers.filter { $0.kind != .ping }, is: [])
    }

    Case("FRM-6/boot-garbage-before-syn", "A SYN right after boot garbage opens a session") { probe, _ in
      // Boot loader text as it is received at another rate: high bits, zeros and 0xFF.
      var garbage: [UInt8] = []
      for _ in 0..<400 {
        let byte = UInt8(truncatingIfNeeded: probe.random.next())
        garbage.append([0, 0xFF, 0xE0 | byte, 0x80 | byte][Int(byte >> 2 & 3)])
      }
      let tlvs = Probe.synTLVs(nonce: probe.makeNonce())
      try await probe.write(garbage + probe.syn(tlvs).bytes)
      let reply = try await probe.awaitFrame(.synAck)
      probe.expect("NONCE", TLV.parse(reply.payload)?.number(of: 0x82), is: tlvs.number(of: 0x82))
    }
  }
}
