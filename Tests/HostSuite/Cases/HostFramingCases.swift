import Conformance
import NotibotHost
import NotibotProtocol
import SuiteWire

/// Frames among text, as the host receives and sends them.
extension HostSuite {
  static let hostFraming = Suite.chapter(.framing) {
    Case.ofHost(
      "FRM-1/host-zeros", "The host too sends each frame between two zeros of its own"
    ) { device, probe in
      probe.startCapture()
      try await device.open()
      for _ in 0..<4 { _ = device.submit(.readCount) }
      try await device.serve { device.host.results.count == 4 }
      let bytes = probe.captured ?? []
      probe.expect(bytes.first == 0 && bytes.last == 0, "the stream does not begin and end with a zero")
      let runs = bytes.dropFirst().dropLast().split(separator: 0, omittingEmptySubsequences: false)
      for (index, run) in runs.enumerated() {
        // Frame, nothing, frame, nothing…: two zeros between frames.
        probe.expect(
          index % 2 == 1 ? run.isEmpty : WireFrame(candidate: Array(run))?.sender == .host,
          "run \(index) between zeros is [\(Wire.hex(run, limit: 32))]")
      }
    }

    Case.host(
      "FRM-6/start-of-stream",
      "The start of a stream counts as a zero: a frame without its first zero is a frame"
    ) { probe, bench in
      let device = bench.makeHost()
      try await device.probe.write(Array(device.hello(bootID: 9).bytes.dropFirst()))
      probe.expect("frames", device.host.machine.statistics.decoder.frames, is: 1)
      probe.expect("text", device.host.text, is: [])
    }

    Case.ofHost(
      "FRM-6/host-text-whole", "Text and broken frames reach the user completely, in order, each byte once",
      also: ["FRM-3", "FRM-5"]
    ) { device, probe in
      try await device.open()
      let pong = probe.frame(.pong, payload: [0]).bytes
      var wrongCRC = pong
      wrongCRC[10] ^= 0x20
      let shortened = pong.prefix(6) + [0]
      let line = Array("I (312) notibot: ready\r\n".utf8)
      let spliced = pong[..<7] + line + pong[7...]
      let pieces: [[UInt8]] = [line, wrongCRC, Array(shortened), pong, Array(spliced), line, [0], line]
      for piece in pieces { try await probe.write(piece) }
      let expected = [line, wrongCRC, Array(shortened), Array(spliced), line, line].flatMap { $0 }.filter {
        $0 != 0
      }
      // The last line is not followed by a zero and is text nevertheless (FRM-10).
      probe.expect("the text", device.host.text, is: expected)
    }

    Case.ofHost(
      "FRM-7/host-early-text", "A candidate with an impossible header is text at once, without its zero",
      also: ["FRM-10"]
    ) { device, probe in
      try await device.open()
      // First decoded byte: type 0, 12 to 15, and SYN, all "from the device".
      for first in [0x08, 0xC8, 0xD8, 0xE8, 0xF8, 0x28] as [UInt8] {
        let before = device.host.text.count
        try await probe.write([0, 5, first])
        probe.expect(
          "text for a header \(Wire.hex([first]))", Array(device.host.text.dropFirst(before)), is: [5, first])
      }
      let before = device.host.text.count
      // DATA with a length of 529: valid up to the byte 02.
      try await probe.write([0, 9, 0x4C, 0x11])
      probe.expect("text before the length's second byte", device.host.text.count - before, is: 0)
      try await probe.write([0x02])
      probe.expect(
        "text for a length of 529", Array(device.host.text.dropFirst(before)), is: [9, 0x4C, 0x11, 2])
    }

    Case.ofHost(
      "FRM-8/host-overrun", "A valid header waits for its zero up to the 544th byte, then it is text",
      also: ["FRM-13", "FRM-12"]
    ) { device, probe in
      try await device.open()
      var data = probe.data([UInt8](repeating: 0x55, count: 528), seq: 0).decoded
      data.replaceSubrange(1...2, with: Wire.u16(528))
      let run = Array((Wire.stuffed(data) + [UInt8](repeating: 0x55, count: 600)).prefix(544))
      let before = device.host.machine.statistics.decoder
      try await probe.write([0] + run.dropLast())
      probe.expect("text after 543 bytes", device.host.text, is: [])
      try await probe.write([run[543]])
      probe.expect("text after 544 bytes", device.host.text, is: run)
      let after = device.host.machine.statistics.decoder
      probe.expect("overruns", after.overruns, is: before.overruns + 1)
    }

    Case.ofHost(
      "FRM-9/host-silence", "Half a frame becomes text after 0.5 to 2 s of silence, not before"
    ) { device, probe in
      try await device.open()
      let pong = probe.frame(.pong, payload: [0]).bytes
      try await probe.write(Array(pong[..<8]))
      _ = try await probe.frames(for: .milliseconds(490))
      probe.expect("text after 490 ms", device.host.text, is: [])
      _ = try await probe.frames(for: .milliseconds(1600))
      probe.expect("text after 2.1 s", device.host.text, is: Array(pong[1..<8]))
      try await probe.write(Array(pong[8...]))
      probe.expect("text with the other half", device.host.text, is: pong.filter { $0 != 0 })
    }

    Case.ofHost(
      "FRM-10/host-text-at-once",
      "Text is passed on at once; bytes directly after it are text up to the next zero"
    ) { device, probe in
      try await device.open()
      let prompt = Array("login: ".utf8)
      try await probe.write([0] + prompt)
      probe.expect("text without a line end", device.host.text, is: prompt)
      let pong = probe.frame(.pong, payload: [0]).bytes
      let frames = device.host.machine.statistics.decoder.frames
      try await probe.write(Array(pong.dropFirst()))
      probe.expect("text with a frame glued to it", device.host.text, is: prompt + pong.filter { $0 != 0 })
      try await probe.write(pong)
      probe.expect("frames after the zero", device.host.machine.statistics.decoder.frames, is: frames + 1)
    }

    Case.ofHost(
      "FRM-11/host-echo", "Echoes of the host's own frames are neither text nor answered, but counted",
      also: ["FRM-12"]
    ) { device, probe in
      device.connect()
      var syn = try await probe.awaitFrame(.syn)
      for _ in 0..<3 {
        try await probe.write(syn)
        syn = try await probe.awaitFrame(.syn)
      }
      probe.expect("echoes", device.host.machine.statistics.decoder.echoes, is: 3)
      probe.expect("text", device.host.text, is: [])
      try await device.answerSyn()
      try await device.serve { device.host.openedCount == 1 }
    }

    Case.ofHost(
      "FRM-12/host-accounting",
      "Every byte that is not a zero is in a frame, in an echo, or text; the counters agree", also: ["FRM-6"]
    ) { device, probe in
      try await device.open()
      let before = device.host.machine.statistics.decoder
      let pong = probe.frame(.pong, payload: [0])
      let echo = probe.echo(of: pong)
      var wrongCRC = pong.bytes
      wrongCRC[wrongCRC.count - 2] ^= 0x40
      var wrongLength = pong.decoded
      wrongLength[1] = 5
      let text = Array("text\n".utf8)
      let stream = pong.bytes + text + echo.bytes + wrongCRC + Wire.sealed(wrongLength) + pong.bytes + [0, 0]
      try await probe.write(stream)
      let after = device.host.machine.statistics.decoder
      probe.expect("frames", after.frames - before.frames, is: 2)
      probe.expect("echoes", after.echoes - before.echoes, is: 1)
      probe.expect("CRC errors", after.crcErrors - before.crcErrors, is: 1)
      probe.expect("malformed candidates", after.malformed - before.malformed, is: 1)
      let expected = text.count + wrongCRC.count - 2 + Wire.sealed(wrongLength).count - 2
      probe.expect("text bytes", Int(after.textBytes - before.textBytes), is: expected)
      probe.expect("text passed on", device.host.text.count, is: expected)
    }

    Case.ofHost(
      "FRM-3/host-every-bit-flip",
      "Any one bit flipped in three frames to the host: at most one frame is lost, and its bytes are text",
      also: ["FRM-6", "FRM-12"]
    ) { device, probe in
      try await device.open()
      // A PONG is not answered and has the same length each time.
      let pong = probe.frame(.pong, payload: [0]).bytes
      let stream = pong + pong + pong
      for bit in 0..<(stream.count * 8) {
        var corrupted = stream
        corrupted[bit / 8] ^= 1 << UInt8(bit % 8)
        let before = device.host.machine.statistics.decoder
        let textBefore = device.host.text.count
        try await probe.write(corrupted + [0])
        let after = device.host.machine.statistics.decoder
        let frames = Int(after.frames - before.frames)
        let text = device.host.text.count - textBefore
        probe.expect((2...3).contains(frames), "bit \(bit) flipped: \(frames) of 3 frames taken")
        probe.expect(
          "bytes in frames and text with bit \(bit) flipped", frames * (pong.count - 2) + text,
          is: corrupted.filter { $0 != 0 }.count)
        if device.host.text.count > 4096 { device.forgetText() }
      }
    }

    Case.host(
      "FRM-13/host-noise", "A megabyte of noise is all text, and the session continues", also: ["FRM-12"]
    ) { _, bench in
      let device = bench.makeHost()
      let probe = device.probe
      try await device.open()
      var random = SeededGenerator(seed: bench.seed)
      var expectedBytes = 0
      var textBytes = 0
      for _ in 0..<256 {
        var bytes: [UInt8] = []
        for _ in 0..<512 { bytes += Wire.u64(random.next()) }
        expectedBytes += bytes.filter { $0 != 0 }.count
        try await probe.line.write(bytes)
        textBytes += device.host.text.count
        device.forgetText()
      }
      try await probe.write([0])
      textBytes += device.host.text.count
      probe.expect("text bytes", textBytes, is: expectedBytes)
      let id = device.submit(.readCount)
      try await device.serve { device.host.results[id] != nil }
      probe.expect("the count", device.host.results[id], is: .count(7))
    }
  }
}
