/// The text that a board sent while it did not answer, and what that says about it.
package struct ConsoleEvidence: Equatable, Sendable {
  /// Why a board does not answer. Reason and hint are safe to print.
  package struct Finding: Hashable, Sendable {
    package let kind: FailureKind
    package let reason: String
    package let hint: String
    /// Whether nothing at all was received.
    package var isSilence: Bool { self == .silence }

    static let silence = Finding(
      kind: .noAnswer, reason: "no answer",
      hint: "check the port, the power supply of the board, and the rate")
    /// Of a connection, which has no console.
    package static let mute = Finding(
      kind: .noAnswer, reason: "it accepts the connection, and does not answer a request",
      hint: "restart the device"
    )
  }

  /// Text kept, in bytes: some boots of a board.
  static let textLimitBytes = 8192
  /// Characters of the quoted line.
  static let quoteLimit = 100
  /// Percentage of the characters that must not be text at a wrong rate.
  static let strangePercent = 30
  /// Restarts that nobody has asked for, while one answer is awaited.
  static let restartsLimit = 3
  /// Starts after power-on; some of them can be those of opening the port.
  static let powerOnsLimit = 5
  /// Lines that say why a board does not answer, what each says, and whether they count only since
  /// its last start: the others are printed before the next one. Source: ESP-IDF, `panic.c`,
  /// `bootloader_utility.c`, `flash_partitions.c`, `task_wdt.c`; the ROMs.
  private static let ends: [(line: String, isLast: Bool, kind: FailureKind, reason: String, hint: String)] = [
    (
      "CPU halted.", true, .deviceRestarted, "the device crashed and stopped",
      "\(read); reset it to start it again"
    ),
    ("Entering gdb stub now.", true, .deviceRestarted, "the device crashed, and waits for a debugger", read),
    ("No bootable app partitions", false, .deviceRestarted, "there is no application in its flash", flashAll),
    (
      "load partition table error", false, .deviceRestarted, "its flash has no valid partition table",
      flashAll
    ),
    ("invalid header: 0xffffffff", false, .deviceRestarted, "there is no bootloader in its flash", flashAll),
    ("Task watchdog got triggered", true, .noAnswer, "a task of its firmware hangs (task watchdog)", read),
  ]
  private static let read = "read its console text"
  private static let flashAll = "flash the whole build"
  /// Wakes from deep sleep while one answer is awaited. Source: the ROMs, DEEPSLEEP_RESET.
  private static let (wake, wakesLimit) = (UInt8(5), 2)

  /// The TLV that HELLO, SYNACK and RST begin with: they can be damaged, but the rate is right.
  private static let magic: [UInt8] = [0x81, 4] + Array("NBOT".utf8)

  private var text: [UInt8] = []
  private var textBytes = 0

  package init() {}

  package mutating func receive(_ bytes: [UInt8]) {
    textBytes += bytes.count
    text += bytes.suffix(Self.textLimitBytes)
    if text.count > 2 * Self.textLimitBytes { text.removeFirst(text.count - Self.textLimitBytes) }
  }

  /// - Parameters:
  ///   - echoes: frames of this host that came back.
  ///   - frames: other frames, none of which was an answer.
  package func finding(echoes: UInt64, frames: UInt64 = 0) -> Finding {
    let quote = lines.last { !$0.isEmpty }.map { "; its last line: '\($0.prefix(Self.quoteLimit))'" } ?? ""
    if echoes > 0 {
      return Finding(
        kind: .noAnswer, reason: "no answer, only the frames of this host come back",
        hint: "check whether RX and TX are connected, and that the firmware at this port is not a console")
    }
    guard textBytes > 0 else { return frames > 0 ? Self.otherFrames(frames) : .silence }
    if text.firstRange(of: Self.magic) != nil {
      return Finding(
        kind: .noAnswer, reason: "no answer, only damaged frames of a Notibot device",
        hint: "the rate is right: look for what changes bytes on the way, such as flow control (XON/XOFF), "
          + "translated line ends (CR, LF), a telnet port, or the firmware itself")
    }
    if isStrange, frames == 0 {
      return Finding(
        kind: .noAnswer, reason: "no answer, only \(textBytes) bytes that are not text",
        hint: "the rate is probably wrong: use that of its firmware, such as 115200 or 921600")
    }
    if isInLoader {
      return Finding(
        kind: .noAnswer, reason: "no answer, the board waits for a download in the loader of its ROM\(quote)",
        hint: "release its BOOT button and press reset, or flash it")
    }
    if let (kind, what, hint) = end ?? restarts {
      return Finding(kind: kind, reason: "no answer, \(what)\(quote)", hint: hint)
    }
    if frames > 0 { return Self.otherFrames(frames) }
    return Finding(
      kind: .noAnswer, reason: "no answer, only console text (\(textBytes) bytes)\(quote)",
      hint: "check that this is the right port, and that the firmware speaks the Notibot serial protocol")
  }

  /// Late answers are of an earlier attempt, or for another host.
  private static func otherFrames(_ count: UInt64) -> Finding {
    Finding(
      kind: .noAnswer,
      reason: "no answer in time, only \(count) other frames of a Notibot device, such as late answers",
      hint: "if its line or its network is slow, use a longer --timeout; if not, its firmware does not keep "
        + "the protocol: report this to its developers")
  }

  /// The lines, printable; the first one can be incomplete.
  private var lines: [String] {
    text.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }.map { line in
      String(decoding: line, as: UTF8.self).printable.trimmingSpaces()
    }
  }

  private var isStrange: Bool {
    let characters = String(decoding: text, as: UTF8.self).unicodeScalars
    return characters.count { $0.isStrangeInText } * 100 >= characters.count * Self.strangePercent
  }

  private var isInLoader: Bool {
    if let boot = ESPBootText(lastIn: text) { return boot.isInLoader }
    return lines.last { !$0.isEmpty }?.hasPrefix("waiting for download") == true
  }

  /// Why the device does not get past its starts: after a fault, or too many. A chip that wakes up
  /// is as intended, and so is the restart by opening the port.
  private var restarts: (FailureKind, what: String, hint: String)? {
    let all = lines.compactMap { ESPBootLine(in: Array($0.utf8))?.cause }
    let starts = all.filter { $0.meaning != .intended }
    let hasCrashed = lines.contains { $0.hasSuffix("Rebooting...") }
    let cause = starts.last?.name ?? "after a crash"
    if starts.count >= Self.restartsLimit {
      return (.deviceRestarted, "the device restarts again and again (\(cause))", Self.read)
    }
    if hasCrashed { return (.deviceRestarted, "the device crashed and restarted (\(cause))", Self.read) }
    if starts.contains(where: { $0.trouble != nil }) {
      return (.deviceRestarted, "the device restarted (\(cause))", Self.read)
    }
    if all.count(where: { $0.number == 1 }) >= Self.powerOnsLimit {
      return (
        .deviceRestarted, "the power of the device comes again and again",
        "check its supply, its cable and the hub"
      )
    }
    guard all.count(where: { $0.number == Self.wake }) >= Self.wakesLimit else { return nil }
    return (
      .noAnswer, "the device sleeps, and wakes only for moments",
      "keep it awake while a host is connected, or use a longer --timeout"
    )
  }

  /// What the board says about its end.
  private var end: (FailureKind, what: String, hint: String)? {
    let last = lines.reversed().prefix { ESPBootLine(in: Array($0.utf8)) == nil }
    return Self.ends.first { end in (end.isLast ? Array(last) : lines).contains { $0.contains(end.line) } }
      .map { ($0.kind, $0.reason, $0.hint) }
  }
}

extension Unicode.Scalar {
  /// Neither text, nor white space, nor the first character of an escape sequence.
  package var isStrangeInText: Bool {
    switch value {
    case 0x08...0x0D, 0x1B: false
    case 0..<0x20, 0x7F...0x9F, 0xFFFD: true
    default: false
    }
  }
}
