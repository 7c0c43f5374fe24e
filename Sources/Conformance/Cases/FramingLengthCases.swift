import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// Long frames and long text from the device, and the limits of what it accepts.
extension Suite {
  static let framingLengths =
    chapter(.framing) {
      Case(
        "FRM-2/long-frames-sent",
        "Frames from the device of every length that makes a full block are complete",
        also: ["FRM-3", "FRM-4", "FRM-14"]
      ) { probe, _ in
        try await probe.openWide()
        let longest = max(min(probe.session.peerMTU, 517) - 5, 0)
        // A part is echoed; its bytes are not zeros, so that only the header makes short blocks.
        for length in [235, 236, 237, 238, 239, 240, 241, 242, 250, 254, 260, 300, longest]
        where length <= longest {
          let part = Wire.literal("0600 0000") + [UInt8](repeating: 0x5A, count: length)
          let echo = try await probe.request([0x16] + part)
          probe.expect("the echo of a part of \(length) bytes", echo == [0x17] + part, is: true)
          try await probe.request(Wire.literal("18 00"))
        }
      }

      Case(
        "FRM-4/longest-pdu",
        "PDUs as long as the device's MTU pass in both directions", also: ["ATT-8", "ATT-14", "LNK-8"]
      ) { probe, _ in
        try await probe.open(Probe.synTLVs(nonce: probe.makeNonce(), mtu: 528))
        let reply = try await probe.request([0x02] + Wire.u16(528))
        probe.expect(
          "the answer to Exchange MTU", reply, is: [0x03] + Wire.u16(UInt16(probe.session.peerMTU)))
        for value in [0x5A, 0] as [UInt8] {
          let part = Wire.literal("0600 0000") + [UInt8](repeating: value, count: probe.session.peerMTU - 5)
          let echo = try await probe.request([0x16] + part)
          probe.expect(
            "whether the echo of \(part.count + 1) bytes is whole", echo == [0x17] + part, is: true)
          try await probe.request(Wire.literal("18 00"))
        }
        let length = probe.session.peerMTU - 3
        guard length <= 512 else { return }
        let answer = try await probe.request([0x12, 6, 0] + [UInt8](repeating: 0x20, count: length))
        probe.expect(
          "the answer to a write of \(length) bytes without JSON", answer, is: [0x01, 0x12, 6, 0, 0x80])
      }

      Case(
        "FRM-2/every-block-length",
        "Blocks of each length, followed by a zero, are accepted and sent", also: ["FRM-3"]
      ) { probe, bench in
        try await probe.openWide()
        // The zeros around make one block of exactly that many bytes, or one of 254 and another.
        let block = { (length: Int) in [0] + [UInt8](repeating: 0x5A, count: length) + [0, 0x5A] as [UInt8] }
        let some = [0, 1, 2, 127, 128, 251, 252, 253, 254, 255, 256, 506, 507, 508, 509]
        for length in bench.hasVirtualTime ? Array(0...512) : some {
          try await probe.awaitRoom()
          try await probe.sendData(block(length), channel: 2)
          try await probe.expectTaken("a frame with a block of \(length) bytes")
        }
        // A part is echoed.
        let longest = min(probe.session.peerMTU, 517) - 8
        for length in bench.hasVirtualTime ? Array(0...longest) : some where length <= longest {
          let part = Wire.literal("0600 0000") + block(length)
          let echo = try await probe.request([0x16] + part)
          probe.expect(
            "whether the echo of a block of \(length) bytes is whole", echo == [0x17] + part, is: true)
          try await probe.request(Wire.literal("18 00"))
        }
      }

      Case(
        "FRM-16/all-values",
        "Each of the 256 values of a byte passes unchanged, in both directions", also: ["FRM-2"]
      ) { probe, _ in
        try await probe.open()
        // Side by side, pairs to which lines and escapes give a meaning; alone, and at both ends.
        var values: [[UInt8]] = stride(from: 0, to: 256, by: 16).map { first in
          (first..<first + 16).map { UInt8($0) }
        }
        values += ["0d0a0d0a", "0a0d", "dbdcdbdd", "7d5e7d5d", "fffd03ff", "1b5b41", "1113", "1003"].map {
          Wire.literal($0)
        }
        for byte in 0...255 as ClosedRange<UInt8> {
          values += [[byte], [byte, 0x5A, byte], [byte, byte, 0x5A, byte, byte]]
        }
        // A part is echoed. 16 bytes fit at MTU 23, and 8 parts in the queue, whatever the limits
        // are.
        for (index, bytes) in values.enumerated() {
          let part = Wire.literal("0600 0000") + bytes
          let echo = try await probe.request([0x16] + part)
          probe.expect("the echo of a part with [\(Wire.hex(bytes))]", echo, is: [0x17] + part)
          if index % 8 == 7 { try await probe.request(Wire.literal("18 00")) }
        }
        try await probe.request(Wire.literal("18 00"))
      }

      Case(
        "FRM-16/no-echo",
        "What a host types between frames does not come back", also: ["FRM-11"]
      ) { probe, _ in
        try await probe.open()
        let typed = "rig: typed \(probe.session.nonce)"
        let ping = probe.frame(.ping).bytes
        try await probe.write(Array("\0\(typed)\r\n\0".utf8) + ping)
        _ = try await probe.readCount()
        _ = try await probe.frames(for: .milliseconds(100))
        // A frame behind it shows that text before it would be complete.
        _ = try await probe.readCount()
        // No firmware returns the frames that it takes.
        guard probe.textReceived.firstRange(of: ping.filter { $0 != 0 }) == nil else {
          throw CaseEnd.skip("the line returns all that is sent: check RX and TX, and the adapter's echo")
        }
        let text = String(decoding: probe.textReceived, as: UTF8.self)
        probe.expect(!text.contains(typed), "what was typed comes back as console text")
      }

      Case(
        "FRM-10/after-overrun",
        "Bytes after 544 bytes without a zero are text too, even a whole frame", also: ["FRM-8"]
      ) { probe, _ in
        try await probe.open()
        let start = Wire.stuffed(probe.data([UInt8](repeating: 0x55, count: 528), channel: 2, seq: 0).decoded)
        let run = start + [UInt8](repeating: 0x55, count: 600)
        for length in 542...547 {
          let ping = probe.frame(.ping).bytes.dropFirst()
          try await probe.write([0] + run.prefix(length) + ping)
          let answers = try await probe.requestFence()
          probe.expect("answers to a PING after \(length) bytes", answers, is: [])
        }
      }

      Case(
        "LNK-4/long-log",
        "A line of the log that is longer than a frame is sent completely", also: ["FRM-6"], needs: [.control]
      ) { probe, bench in
        let control = try bench.requireControl()
        try await probe.open()
        _ = try await probe.fence()
        let line = Sample.everyByte + Sample.everyByteReversed
        try await control.perform(.log(line))
        // Text is not acknowledged: a busy device sends its answers first.
        let deadline = probe.now + Probe.patience
        while !probe.textReceived.contains(line.utf8), probe.now < deadline {
          _ = try await probe.frames(for: .milliseconds(20))
        }
        probe.expect(
          probe.textReceived.contains(line.utf8),
          "of \(line.utf8.count) bytes of log \(probe.textReceived.count) were sent as text, or with changes")
      }
    }
    + chapter(.link) {
      Case(
        "LNK-4/framed-log",
        "The log is sent in UDATA on channel 1 if both sides agree, otherwise and without a session as console text",
        also: ["LNK-9"], needs: [.control]
      ) { probe, bench in
        let control = try bench.requireControl()
        for features in [0b1000, 0b0001] as [UInt32] {
          try await probe.open(Probe.synTLVs(nonce: probe.makeNonce(), features: features))
          let isFramed = features & UInt32(truncatingIfNeeded: probe.session.features) & 0b1000 != 0
          _ = try await probe.fence()
          let lines = ["rig: a line with features \(features)", Sample.everyByte, Sample.everyByteReversed]
          for (line, what) in zip(lines, ["a line", "every byte of UTF-8", "the same backwards"]) {
            let start = probe.textReceived.count
            try await control.perform(.log(line))
            var (logged, text) = ([], []) as ([UInt8], [UInt8])
            // A busy device sends its answers first.
            // The end of a frame is no end of a line.
            let ended = [[0x0A], [0x0D, 0x0A]].map { Array(line.utf8) + $0 as [UInt8] }
            for _ in 0..<8 where !ended.contains(where: { logged.contains($0) || text.contains($0) }) {
              let frames = try await probe.fence() + probe.frames(for: .milliseconds(20))
              logged += frames.filter { $0.kind == .udata && $0.channel == 1 }.flatMap(\.payload)
              text = Array(probe.textReceived[start...])
            }
            probe.expect("whether \(what) is in UDATA", logged.contains(line.utf8), is: isFramed)
            probe.expect(
              !isFramed || ended.contains { logged.contains($0) },
              "\(what) in UDATA has no line feed at its end")
            probe.expect("whether \(what) is console text", text.contains(line.utf8), is: !isFramed)
          }
        }
      }
    }
}
