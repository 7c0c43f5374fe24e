/// The standard output of esptool 5 while it identifies a chip and writes its flash. Lines that are
/// not known are ignored; nothing counts as verified unless esptool has printed it.
package struct EsptoolOutput: Equatable, Sendable {
  /// What became of a file.
  package enum Part: Equatable, Sendable {
    /// Its digest was right before anything was written.
    case present
    /// Written, and its digest is right. `bytes`: of the flash, less than the file if only changed
    /// sectors were written, more if that was repeated.
    case written(bytes: Int)
  }

  /// How far esptool is, which decides how long it can be silent.
  package enum Phase: Equatable, Sendable {
    case connecting
    case connected
    case writing
  }

  /// Bytes of a line that are kept; a longer one is not esptool's.
  static let lineLimitBytes = 1024

  package private(set) var phase = Phase.connecting
  /// Its version, such as `5.6.0`.
  package private(set) var version: String?
  /// The name of the connected chip, such as `ESP32-C3`.
  package private(set) var chip: String?
  /// The base MAC, in upper case with colons.
  package private(set) var mac: String?
  /// The files that are done, in the order of the command line.
  package private(set) var parts: [Part] = []
  /// How much of the current file, or of its current run of sectors, is written, 0...100.
  package private(set) var percent = 0
  /// Whether a byte of the flash can have changed.
  package private(set) var hasBegunWriting = false
  /// The size of the flash, if it was asked for, in bytes.
  package private(set) var detectedFlashBytes: Int?
  /// What it says about images that are written, but do not run on this revision of the chip; at
  /// most one per part. Not sanitised.
  package private(set) var revisionNotes: [String] = []
  /// Whether esptool has lost the connection and connected again.
  package private(set) var hasReconnected = false
  private var writtenBytes = 0
  private var line: [UInt8] = []
  private var isTooLong = false

  package init() {}

  /// Takes bytes as they come.
  package mutating func receive(_ bytes: some Sequence<UInt8>) {
    for byte in bytes {
      if byte == 0x0A || byte == 0x0D {
        if !isTooLong { receiveLine(String(decoding: line, as: UTF8.self)) }
        line = []
        isTooLong = false
      } else if line.count < Self.lineLimitBytes {
        line.append(byte)
      } else {
        isTooLong = true
      }
    }
  }

  private mutating func receiveLine(_ line: String) {
    if let rest = line.dropping("esptool v") {
      version = rest.hasOnly("0123456789.") ? String(rest) : nil
    } else if let rest = line.dropping("Connected to "), let end = rest.firstIndex(of: " ") {
      chip = String(rest[..<end])
      phase = .connected
    } else if let rest = line.dropping("MAC:") {
      let text = rest.drop { $0 == " " }.uppercased()
      if Self.isMAC(text) { mac = text }
    } else if let rest = line.dropping("Detected flash size: "), rest.hasSuffix("MB") {
      detectedFlashBytes = UInt16(rest.dropLast(2)).map { Int($0) << 20 }
    } else if let rest = line.dropping("NOTE: "), rest.contains("requires chip revision") {
      if revisionNotes.count < FlashPlan.partsLimit { revisionNotes.append(String(rest)) }
    } else if line.hasPrefix("Flash will be erased from ") || line.hasPrefix("Erasing flash") {
      (hasBegunWriting, phase, percent) = (true, .writing, 0)
    } else if line.hasPrefix("Writing at 0x") {
      hasBegunWriting = true
      percent = Self.percent(in: line) ?? percent
    } else if let rest = line.dropping("Wrote ") {
      writtenBytes += Int(rest.prefix { $0.isNumber }) ?? 0
    } else if line == "Hash of data verified." {
      finish(.written(bytes: writtenBytes))
    } else if line.hasSuffix(" already in flash, skipping write.")
      || (line.contains(" at 0x") && line.hasSuffix(" verified."))
    {
      finish(.present)
    } else if line.hasPrefix("Lost connection, retrying") {
      hasReconnected = true
      percent = 0
    }
  }

  private mutating func finish(_ part: Part) {
    guard parts.count < FlashPlan.partsLimit else { return }
    parts.append(part)
    (percent, writtenBytes) = (0, 0)
  }

  /// The whole part of the number before the first percent sign.
  private static func percent(in line: String) -> Int? {
    guard let sign = line.firstIndex(of: "%"),
      let number = line[..<sign].split(separator: " ").last?.split(separator: ".").first,
      let percent = Int(number),
      (0...100).contains(percent)
    else { return nil }
    return percent
  }

  /// Whether a text is six octets, in upper case with colons.
  package static func isMAC(_ text: String) -> Bool {
    let octets = text.split(separator: ":", omittingEmptySubsequences: false)
    return octets.count == 6 && octets.allSatisfy { $0.count == 2 && $0.hasOnly("0123456789ABCDEF") }
  }
}

/// Why esptool ended without success.
package enum EsptoolFailure: Equatable, Sendable {
  /// The board has another chip than the images, by esptool's names.
  case wrongChip(board: String)
  case tooLarge
  /// The images need another revision of the chip.
  case wrongRevision
  case portBusy
  /// The loader does not answer; nothing was written.
  case noAnswer
  /// The port disappeared, or the loader no longer answers.
  case lost
  case other

  private static let lostWords = [
    "SerialException", "No such file or directory", "Input/output error", "multiple access on port",
  ]
  private static let silenceWords = [
    "Failed to connect", "No serial data received", "Serial data stream stopped", "imed out",
    "No more data to read",
  ]

  /// - Parameters:
  ///   - error: what it has printed on standard error.
  ///   - hasBegunWriting: whether the flash can have changed.
  package init(error: String, hasBegunWriting: Bool) {
    if let start = error.firstRange(of: "This chip is ")?.upperBound,
      let end = error[start...].firstIndex(of: ","), error.contains("Wrong chip argument")
    {
      self = .wrongChip(board: String(error[start..<end].prefix(32)))
    } else if error.contains("requires chip revision") || error.contains("requires chip in revision") {
      self = .wrongRevision
    } else if error.contains("will not fit in") {
      self = .tooLarge
    } else if error.contains("the port is busy") || error.contains("Could not exclusively lock port") {
      self = hasBegunWriting ? .lost : .portBusy
    } else if Self.lostWords.contains(where: error.contains) {
      self = .lost
    } else if Self.silenceWords.contains(where: error.contains) {
      self = hasBegunWriting ? .lost : .noAnswer
    } else {
      self = .other
    }
  }

  /// The line of its error output that has the reason, without esptool's introduction.
  package static func reason(in error: String) -> String {
    let lines = error.split(separator: "\n").filter { !$0.allSatisfy(\.isWhitespace) }
    let line = lines.last { $0.contains("A fatal error occurred: ") } ?? lines.last ?? "it printed no error"
    let start = line.firstRange(of: "A fatal error occurred: ")?.upperBound ?? line.startIndex
    return String(line[start...].prefix(300))
  }
}

extension StringProtocol {
  /// The rest behind a prefix; `nil` if it does not begin so.
  fileprivate func dropping(_ prefix: String) -> SubSequence? {
    hasPrefix(prefix) ? dropFirst(prefix.count) : nil
  }

  fileprivate func hasOnly(_ characters: String) -> Bool { allSatisfy(characters.contains) }
}
