import NotibotProtocol
import SuiteWire

/// Every wrong bit, every size of a read, every length of a write.
extension Suite {
  static let framingBytes = chapter(.framing) {
    Case(
      "FRM-6/one-bit-wrong", "A frame with any one bit wrong is text",
      also: ["FRM-2", "FRM-3", "FRM-5", "FRM-7"]
    ) { probe, _ in
      try await probe.open()
      // Code bytes in the middle, at the beginning and near the end.
      for frame in [probe.frame(.ping), probe.frame(.ping, payload: [1, 0, 2, 0, 0, 3])] {
        let bytes = frame.bytes
        for index in 1..<(bytes.count - 1) {
          for bit in 0..<8 {
            var wrong = bytes
            wrong[index] ^= 1 << UInt8(bit)
            try await probe.write(wrong)
          }
          let answers = try await probe.requestFence()
          probe.expect("answers to a PING with a wrong bit in byte \(index)", answers, is: [])
        }
      }
      // The last code must not point beyond the end, even if the rest is right.
      let ping = Array(probe.frame(.ping).bytes.dropLast())
      let code = ping.indices.last { Int(ping[$0]) == ping.count - $0 && $0 > 0 }
      let last = try probe.require(code, "the PING has no last block")
      for excess in [1, 2, 100] {
        var long = ping
        long[last] &+= UInt8(excess)
        try await probe.write(long + [0])
      }
      let answers = try await probe.requestFence()
      probe.expect("answers to PINGs whose last code points beyond the end", answers, is: [])
    }

    Case(
      "FRM-6/one-byte-more-or-less", "A frame with a byte lost, duplicated or added is text",
      also: ["FRM-3", "FRM-5"]
    ) { probe, _ in
      try await probe.open()
      let ping = probe.frame(.ping, payload: [1, 0, 2]).bytes
      for index in 1..<(ping.count - 1) {
        var (less, twice) = (ping, ping)
        less.remove(at: index)
        twice.insert(ping[index], at: index)
        try await probe.write(less + twice)
        for byte in [0x01, 0x02, 0x55, 0xFF] as [UInt8] {
          var more = ping
          more.insert(byte, at: index)
          try await probe.write(more)
        }
        let answers = try await probe.requestFence()
        probe.expect("answers to PINGs with a byte more or less at \(index)", answers, is: [])
      }
      try await probe.write(probe.frame(.ping))
      _ = try await probe.awaitFrame(.pong)
    }

    Case(
      "FRM-6/every-size-of-a-read", "Frames are accepted in pieces of any size", also: ["FRM-8", "LNK-40"]
    ) { probe, _ in
      try await probe.open()
      let sizes = [1, 2, 3, 5, 63, 64, 65, 127, 128, 255, 256, 511, 512, 513, 1024]
      for size in sizes {
        // Short and long ones, as many as the credit and the bytes allow.
        let lengths = size < 8 ? [1, 3, 40] : [528, 1, 17]
        var bytes: [UInt8] = []
        for length in lengths.prefix(min(3, probe.session.peerFrames, max(1, probe.session.peerBytes / 540)))
        {
          let payload = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7) }
          bytes += probe.data(payload, channel: 2, seq: probe.session.nextSeq).bytes
          probe.session.nextSeq &+= 1
          probe.session.room -= 1
        }
        for start in stride(from: 0, to: bytes.count, by: size) {
          try await probe.write(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        try await probe.expectTaken("frames in pieces of \(size) bytes")
      }
      _ = try await probe.readCount()
    }

    Case(
      "FRM-6/whole-window", "As many and as long frames as were granted are accepted in one piece",
      also: ["LNK-8", "LNK-32", "LNK-40", "LNK-42"]
    ) { probe, _ in
      for length in [528, 200, 40, 1] {
        try await probe.open()
        let count = min(probe.session.peerFrames, probe.session.peerBytes / (length + 12))
        var bytes: [UInt8] = []
        for seq in 0..<count {
          bytes += probe.data([UInt8](repeating: 0x55, count: length), channel: 2, seq: UInt8(seq)).bytes
        }
        try await probe.write(bytes)
        probe.session.nextSeq = UInt8(count)
        try await probe.expectTaken("\(count) frames with \(length) bytes of payload, in one write")
      }
      _ = try await probe.readCount()
    }

    Case(
      "FRM-14/every-length-of-a-write",
      "An answer of any length on the wire is sent completely and at once, without a later one to flush it",
      also: ["FRM-1", "FRM-4"]
    ) { probe, bench in
      try await probe.open()
      try await probe.request(Wire.literal("02 0502"))
      let longest = min(probe.session.peerMTU, 517) - 5
      // A byte that is held back comes with the resend, after 100 ms or more (LNK-51). A slow line
      // delays the echo of one byte less as well.
      let heldMs = 90.0
      var shorterMs = heldMs
      // An echo with n bytes is a frame of n + 20 bytes on the wire, one more with each further
      // block. In real time those around a multiple of 64, all of them on a line without
      // transmission time.
      for length in 0...longest where bench.hasExactTime || (length + 22) % 64 < 6 {
        // In real time a single delay can be caused by a busy computer; three mean that a byte is
        // held back.
        var times: [Double] = []
        repeat {
          let start = probe.now
          let part = Wire.literal("0600 0000") + [UInt8](repeating: 0x5A, count: length)
          let echo = try await probe.request([0x16] + part)
          times.append((probe.now - start).inMilliseconds)
          probe.expect("whether the echo of \(length) bytes is whole", echo == [0x17] + part, is: true)
          try await probe.request(Wire.literal("18 00"))
        } while !bench.hasExactTime && times.count < 3 && (times.last ?? 0) > shorterMs + heldMs
        let leastMs = times.min() ?? 0
        probe.expect(leastMs <= shorterMs + heldMs, "the echo of \(length) bytes came after \(times) ms")
        shorterMs = leastMs
      }
    }

    Case(
      "FRM-2/full-block-sent", "A frame whose last block is full is sent without a code byte 01 after it",
      also: ["FRM-4"]
    ) { probe, _ in
      try await probe.openWide()
      guard probe.session.peerMTU >= 255 else {
        throw CaseEnd.skip("the device's MTU has no block of 254 bytes")
      }
      // After the last zero of handle and offset: 250 bytes, and a CRC that sometimes has a zero.
      var fullBlocks = 0
      for fill in 0x41...0x50 as ClosedRange<UInt8> where fullBlocks < 3 {
        probe.startCapture()
        try await probe.request(Wire.literal("16 0600 0000") + [UInt8](repeating: fill, count: 250))
        for run in (probe.captured ?? []).split(separator: 0) {
          guard let decoded = Wire.unstuffed(Array(run)), WireFrame(candidate: Array(run)) != nil else {
            continue
          }
          let shortest = Wire.stuffed(decoded)
          if shortest.count > 254, shortest[shortest.count - 255] == 255 { fullBlocks += 1 }
          probe.expect(
            "whether \(decoded.count) bytes are sent in the shortest form", Array(run) == shortest, is: true)
        }
        try await probe.request(Wire.literal("18 00"))
      }
      probe.expect(fullBlocks > 0, "no frame ended in a full block")
    }

    Case(
      "FRM-6/first-syn-without-zero",
      "The start of a stream counts as a zero: a first SYN needs none before it", needs: [.control]
    ) { probe, bench in
      _ = try await bench.restartSession()
      let nonce = probe.makeNonce()
      try await probe.write(Array(probe.syn(Probe.synTLVs(nonce: nonce)).bytes.dropFirst()))
      _ = try await probe.awaitFrame("SYNACK to a SYN without its first zero") {
        $0.kind == .synAck && TLV.parse($0.payload)?.number(of: 0x82) == nonce
      }
    }

    Case(
      "FRM-10/text-after-silence", "Bytes after half a frame and silence are text up to the next zero",
      also: ["FRM-9"]
    ) { probe, bench in
      try await probe.open()
      let ping = probe.frame(.ping).bytes
      try await probe.write(Array(ping[..<8]))
      _ = try await probe.frames(for: .milliseconds(bench.hasVirtualTime ? 2300 : 2600))
      try await probe.write(Array(ping.dropFirst()))
      let answers = try await probe.requestFence()
      probe.expect(
        "answers to a PING after silence, without a zero", answers.filter { $0.kind != .ping }, is: [])
      try await probe.write(probe.frame(.ping))
      _ = try await probe.awaitFrame(.pong)
    }

    Case(
      "FRM-9/silence-after-each-byte",
      "No part of a frame that stops after any byte and continues 2 s later is accepted", also: ["FRM-10"],
      needs: [.longWaits]
    ) { probe, bench in
      try await probe.open()
      // Short blocks and a long one at the beginning.
      let payloads = [[0, 1, 0, 0, 2], [], [UInt8](repeating: 0x5A, count: 300)] as [[UInt8]]
      for payload in payloads.prefix(bench.hasVirtualTime ? 3 : 1) {
        let ping = probe.frame(.ping, payload: payload).bytes
        for length in [Int](1..<ping.count) where length < 40 || length % 40 == 0 || length > ping.count - 3 {
          try await probe.write(Array(ping.prefix(length)))
          _ = try await probe.frames(for: .milliseconds(2300))
          try await probe.write(Array(ping.dropFirst(length)))
          // A zero alone is not a candidate: the bytes after it are a frame, however late.
          let expected: [WireFrame.Kind] = length == 1 ? [.pong] : []
          let answers = try await probe.requestFence().map(\.kind).filter { $0 != .ping }
          probe.expect("answers to a PING with silence after byte \(length)", answers, is: expected)
        }
      }
    }

    Case(
      "FRM-6/one-zero-between",
      "A frame is accepted if its first zero is the last one of a frame, an echo or text",
      also: ["FRM-8", "FRM-10", "FRM-11"]
    ) { probe, _ in
      let synAck = try await probe.openSession()
      let ping = probe.frame(.ping)
      let echo = probe.echo(of: ping)
      var wrongCRC = Wire.sealed(ping.decoded)
      wrongCRC[wrongCRC.count - 2] ^= 0x40
      let long = Wire.stuffed(probe.data([UInt8](repeating: 0x55, count: 528), channel: 2, seq: 0).decoded)
      let inputs: [(what: String, bytes: [UInt8])] = [
        ("a frame", ping.bytes), ("UDATA", probe.frame(.udata, channel: 5, payload: [1]).bytes),
        ("an echo of PING", echo.bytes), ("an echo of SYNACK", probe.echo(of: synAck).bytes),
        ("a frame with a wrong CRC", wrongCRC),
        ("a frame with a wrong length", Wire.sealed([ping.decoded[0], 5, 0] + ping.decoded.dropFirst(3))),
        ("a frame of 11 bytes", [0] + Wire.stuffed([UInt8](repeating: 0x40, count: 11)) + [0]),
        ("half a frame", ping.bytes.prefix(9) + [0]),
        ("a code that points beyond the end", [0] + [0x30, 0x80, 0x01] + [0]),
        ("one byte", [0, 0x02, 0]), ("an impossible type", [0, 0x02, 0xF0, 0]),
        ("a SYNACK without direction", Wire.sealed([0x30] + synAck.decoded.dropFirst())),
        ("a length above 528", [0, 0x04, 0x80, 0x11, 0x12, 0]),
        ("a line of text", [0] + Array("I (1) wifi: text\r\n".utf8) + [0]),
        ("543 bytes", [0] + (long + [UInt8](repeating: 0x55, count: 544)).prefix(543) + [0]),
        ("544 bytes", [0] + (long + [UInt8](repeating: 0x55, count: 544)).prefix(544) + [0]),
        ("600 bytes", [0] + (long + [UInt8](repeating: 0x55, count: 600)).prefix(600) + [0]),
        ("zeros", [0, 0, 0]),
      ]
      for (what, bytes) in inputs {
        let expected: [WireFrame.Kind] = bytes == ping.bytes ? [.pong, .pong] : [.pong]
        // With the zero at its end as the frame's own, and with an additional one.
        for next in [Array(ping.bytes.dropFirst()), ping.bytes] {
          try await probe.write(bytes + next)
          let answers = try await probe.requestFence().map(\.kind)
          probe.expect("answers to a PING after \(what)", answers, is: expected)
        }
      }
    }
  }
}
