import NotibotProtocol
import Testing

@testable import Console

/// The records of a monitor. Frames are those of `firmware-fixtures/vectors/frames.jsonl`.
struct MonitorMachineTests {
  /// The device's DATA 1: the count is 1.
  private static let count = bytes("00 03 4C 05 08 7C 3A 01 01 10 1B 03 02 01 05 15 07 1F 92 00")
  /// The host's DATA 6, a removal of notification 7.
  private static let removal = bytes(
    """
    00 03 44 40 08 7C 3A 06 0A 40 12 06 41 7B 22 61 70 70 22 3A 22 22 2C 22 74 69 74 6C 65 22 3A 22 \
    22 2C 22 74 65 78 74 22 3A 22 22 2C 22 74 69 6D 65 73 74 61 6D 70 22 3A 30 2C 22 69 64 22 3A 37 \
    2C 22 65 76 22 3A 22 72 22 7D 1D F2 14 01 00
    """)
  /// The device's UDATA on channel 1: `I (1500) notibot: link up\n`.
  private static let log = bytes(
    """
    00 03 79 1A 03 7C 3A 01 01 1F 49 20 28 31 35 30 30 29 20 6E 6F 74 69 62 6F 74 3A 20 6C 69 6E 6B \
    20 75 70 0A C5 9B FE 8E 00
    """)

  static func bytes(_ hex: String) -> [UInt8] {
    hex.split(separator: " ").compactMap { UInt8($0, radix: 16) }
  }

  /// The records for a stream received in pieces of one size, without a delay.
  private func contents(of stream: [UInt8], pieceBytes: Int) -> [MonitorRecord.Content] {
    var line = MonitoredLine()
    var start = 0
    while start < stream.count {
      line.receive(Array(stream[start..<min(stream.count, start + pieceBytes)]))
      start += pieceBytes
    }
    line.machine.finish(now: line.now)
    return line.drain()
  }

  @Test(arguments: [1, 2, 3, 64, 4096])
  func `text, frames of both sides and damage are reported in order at any read boundaries`(pieceBytes: Int) {
    var damaged = Self.count
    damaged[10] ^= 0x10
    let stream =
      Array("I (1) one\r\nI (2) t".utf8) + Self.count + Array("wo\r\n".utf8) + damaged + Self.removal
      + Array("three\nfour".utf8)
    let records = contents(of: stream, pieceBytes: pieceBytes)
    #expect(records.count == 7)
    #expect(records.prefix(1) == [.text(ConsoleLine(.console, Array("I (1) one".utf8)))])
    #expect(records.names == ["I (1) one", "DATA 1", "I (2) two", "crc", "DATA 6", "three", "four"])
    #expect(records.last == .text(ConsoleLine(.console, Array("four".utf8), end: .broken)))
    #expect(records[3] == .damage(DamagedFrame(.crc, Array(damaged.dropFirst().dropLast()))))
  }

  @Test(arguments: [1, 5, 64])
  func `a log line within a frame is part of the damage, and affects nothing else`(pieceBytes: Int) {
    let spliced = Self.count.prefix(9) + Array("E (77) spliced\r\n".utf8) + Self.count.dropFirst(9)
    let records = contents(
      of: Array("a\n".utf8) + spliced + Self.count + Array("b\n".utf8), pieceBytes: pieceBytes)
    #expect(
      records.names == ["a", "malformed", "DATA 1", "b"] || records.names == ["a", "crc", "DATA 1", "b"])
    guard case .damage(let damage) = records[1] else { return }
    #expect(VisibleText(damage.bytes).plain.contains("E (77) spliced"))
  }

  @Test func `damage ends the interrupted line, and its rest is a separate line`() {
    var damaged = Self.count
    damaged[10] ^= 0x10
    let records = contents(of: Array("I (5) be".utf8) + damaged + Array("gun\n".utf8), pieceBytes: 64)
    #expect(records.names == ["I (5) be", "crc", "gun"])
    #expect(records.first == .text(ConsoleLine(.console, Array("I (5) be".utf8), end: .broken)))
  }

  @Test func `a frame of the log is a line of its own source`() {
    let records = contents(of: Array("half".utf8) + Self.log + Array(" line\n".utf8), pieceBytes: 7)
    #expect(records.names == ["UDATA", "I (1500) notibot: link up", "half line"])
    #expect(records[1] == .text(ConsoleLine(.framedLog, Array("I (1500) notibot: link up".utf8))))
  }

  @Test
  func
    `an incomplete frame is text after a second of silence, and an unfinished line is shown after 200 ms`()
  {
    var line = MonitoredLine()
    line.receive(Array("esp> ".utf8))
    line.pass(.milliseconds(199))
    #expect(line.drain().isEmpty)
    line.pass(.milliseconds(2))
    #expect(line.drain() == [.text(ConsoleLine(.console, Array("esp> ".utf8), end: .silence))])
    line.receive(Array("help\n".utf8))
    #expect(line.drain() == [.text(ConsoleLine(.console, Array("esp> help".utf8), reportedBytes: 5))])
    // A zero and the beginning of a possible DATA frame.
    line.receive([0, 3, 0x4C])
    line.pass(.milliseconds(900))
    #expect(line.drain().isEmpty)
    line.pass(.milliseconds(400))
    #expect(line.drain() == [.text(ConsoleLine(.console, [3, 0x4C], end: .silence))])
  }

  @Test func `each byte of an unfinished line is shown 200 ms later, however many follow`() {
    var line = MonitoredLine()
    line.receive("Connecting")
    var shownBytes = 0
    for count in 1...30 {
      line.pass(.milliseconds(100))
      if case .text(let text)? = line.drain().last { shownBytes = text.bytes.count }
      line.receive(".")
      if count > 2 { #expect(shownBytes >= "Connecting".utf8.count + count - 3) }
    }
  }

  @Test(arguments: [
    ("a\r\nb\r\n", ["a", "b"]), ("a\r\r\nb\r\r\n\r\r\n", ["a", "b", ""]), ("a\rb\rc\r", ["a", "b", "c"]),
    ("\ra\n\n", ["a", ""]), ("\r\n\r\na\r\n\n", ["", "", "a", ""]), ("50 %\r60 %\r\n", ["50 %", "60 %"]),
  ])
  func `CR, LF and both end a line`(text: String, lines: [String]) {
    for pieceBytes in 1...3 {
      #expect(contents(of: Array(text.utf8), pieceBytes: pieceBytes).names == lines)
    }
  }

  @Test(arguments: ["é", "日", "\u{1B}[0;32m", "\u{1F600}"])
  func `a cut character or colour waits for its rest`(whole: String) {
    for cut in 1..<whole.utf8.count {
      var line = MonitoredLine()
      line.receive(Array("esp> ".utf8) + whole.utf8.prefix(cut))
      line.pass(.seconds(1))
      #expect(line.drain().names == ["esp> "])
      line.receive(Array(whole.utf8.dropFirst(cut)) + Array("y\n".utf8))
      let text = ConsoleLine(.console, Array("esp> \(whole)y".utf8), reportedBytes: 5)
      #expect(line.drain() == [.text(text)])
    }
  }

  @Test func `two frames of a binary log are one hint, and their zeros damage no frame`() {
    var line = MonitoredLine()
    // Level 3, 15 bytes, ending with the CRC-8.
    let frame = Self.bytes("02 0C 0F 00 03 44 40 00 00 00 01 00 00 00 D6")
    for _ in 0..<40 { line.receive(frame) }
    line.machine.finish(now: line.now)
    let names = line.drain().names
    #expect(names.count { $0 == "binary log" } == 1)
    #expect(!names.dropFirst(3).contains { $0 == "crc" || $0 == "malformed" })
    var noise = MonitoredLine()
    noise.receive(
      Self.bytes("02 0C 0F 00 03 44 40 00 00 00 01 00 00 00 00") + frame + Array("text\n".utf8) + frame)
    noise.machine.finish(now: noise.now)
    #expect(!noise.drain().names.contains("binary log"))
  }

  @Test func `a line without an end is split at its limit`() {
    var line = MonitoredLine()
    line.receive([UInt8](repeating: UInt8(ascii: "x"), count: 3 * ConsoleText.lineLimitBytes))
    let records = line.drain()
    #expect(records.count == 3)
    let whole = [UInt8](repeating: UInt8(ascii: "x"), count: ConsoleText.lineLimitBytes)
    #expect(records.allSatisfy { $0 == .text(ConsoleLine(.console, whole, end: .limit)) })
  }

  @Test func `544 bytes of a possible frame are an overrun, and text`() {
    var line = MonitoredLine()
    let endless: [UInt8] = [0, 255, 0x48, 0x10, 1] + [UInt8](repeating: 0x41, count: 540) + [0]
    line.receive(endless)
    line.machine.finish(now: line.now)
    let records = line.drain()
    #expect(records.first == .damage(DamagedFrame(.overrun, [])))
    #expect(records.count == 2)
    guard case .text(let text)? = records.last else { return }
    #expect(text.bytes == Array(endless.dropFirst().dropLast()))
  }

  @Test func `a lost port breaks its line and ends its frame, and a new port starts over`() {
    var line = MonitoredLine()
    line.receive(Array("cut o".utf8) + Self.count.prefix(7))
    line.machine.portLost(reason: "the device went away", now: line.now)
    line.machine.receive(Array("late".utf8), now: line.now)
    line.machine.portOpened("/dev/ttyX", now: line.now)
    line.receive(Array("new\n".utf8) + Self.count)
    let records = line.drain()
    #expect(records.names == ["cut o\\x03L\\x05\\x08|:", "lost", "opened", "new", "DATA 1"])
    #expect(line.machine.counts.frames == 1)
  }

  @Test(arguments: 1...20)
  func `every byte is in a frame, in damage or in text`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var line = MonitoredLine()
    var (sent, frames) = (0, 0)
    for _ in 0..<200 {
      var piece = Self.count
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: break
      case 1:
        piece[Int.random(in: 1..<19, using: &generator)] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      case 2: piece = Array("text with no end ".utf8)
      case _: piece = (0..<40).map { _ in UInt8.random(in: 0...255, using: &generator) }
      }
      piece.removeAll { $0 == 0x0A || $0 == 0x0D }
      sent += piece.count { $0 != 0 }
      line.receive(piece)
    }
    line.machine.finish(now: line.now)
    var seen = 0
    for content in line.drain() {
      switch content {
      case .text(let text): seen += text.bytes.count
      case .damage(let damage): seen += damage.bytes.count
      case .frame: (seen, frames) = (seen + 18, frames + 1)
      case .opened, .lost, .boot, .crash, .warning, .rebootLoop, .binaryLog: break
      }
    }
    #expect(seen == sent, "seed \(seed)")
    #expect(frames > 20, "seed \(seed)")
  }

  @Test func `a host's write is named, with its notification`() {
    let write = Self.bytes(
      """
      00 03 44 61 08 7C 3A 02 03 40 12 06 63 7B 22 61 70 70 22 3A 22 4D 65 73 73 61 67 65 73 22 2C 22 \
      74 69 74 6C 65 22 3A 22 4A 61 6E 65 20 44 6F 65 22 2C 22 74 65 78 74 22 3A 22 53 65 65 20 79 6F \
      75 20 74 6F 6D 6F 72 72 6F 77 21 22 2C 22 74 69 6D 65 73 74 61 6D 70 22 3A 31 32 33 34 35 36 37 \
      38 39 30 2C 22 69 64 22 3A 37 7D 1B DB 37 39 00
      """)
    let records = contents(of: write + Self.count, pieceBytes: 64)
    guard case .frame(let first)? = records.first, case .frame(let second)? = records.last else {
      Issue.record("no frames in \(records)")
      return
    }
    let summary = FrameSummary(first)
    #expect(first.header.direction == .fromHost && summary.pdu == "Write Request")
    #expect(summary.detail == "Data, id 7, Messages: Jane Doe: See you tomorrow!")
    #expect(summary.notification?.text == "See you tomorrow!")
    #expect(FrameSummary(second).detail == "Count 1")
  }
}

/// A monitored line, and its clock.
struct MonitoredLine {
  var machine = MonitorMachine()
  private(set) var now = Instant.zero

  init() {
    machine.portOpened("/dev/ttyX", now: now)
    _ = machine.nextRecord()
  }

  mutating func receive(_ bytes: [UInt8]) {
    machine.receive(bytes, now: now)
  }

  mutating func receive(_ text: String) {
    receive(Array(text.utf8))
  }

  /// Lets time pass, deadline by deadline.
  mutating func pass(_ duration: Duration) {
    let end = now + duration
    while let deadline = machine.nextDeadline, deadline <= end {
      now = max(now, deadline)
      machine.handleTimeout(now: now)
    }
    now = end
  }

  /// The records since the last call.
  mutating func drain() -> [MonitorRecord.Content] {
    var records: [MonitorRecord.Content] = []
    while let record = machine.nextRecord() { records.append(record.content) }
    return records
  }
}

extension Sequence<MonitorRecord.Content> {
  /// A word for each.
  var names: [String] {
    map { content in
      switch content {
      case .opened: "opened"
      case .lost: "lost"
      case .text(let line): VisibleText(line.bytes).plain
      case .frame(let frame):
        frame.header.type == .data ? "DATA \(frame.header.sequence)" : frame.header.type.name
      case .damage(let damage): damage.kind.rawValue
      case .boot(let cause): "boot \(cause)"
      case .crash(let crash): "crash \(crash.kind.rawValue)"
      case .warning(let warning): "warning \(warning.kind.rawValue)"
      case .binaryLog: "binary log"
      case .rebootLoop(let boots): "loop \(boots)"
      }
    }
  }
}
