import CChip
package import Conformance
package import NotibotProtocol
package import SerialLink

/// A board with an ESP32-C3 and a host on one of its lines, in virtual time: its clock advances
/// only during a read. A second line, UART1 on GPIO4 and 5, takes commands of a test
/// (`nb_control.h`), if the firmware serves it.
package final class ChipBoard: Line {
  /// How long a host's driver collects bytes before its program gets them, as a USB bridge does.
  private static let collectTime = Duration.milliseconds(1)
  /// More than the ROM's text and the start of the firmware take.
  static let bootLimit = Duration.seconds(1)
  /// The firmware answers a command in its next round.
  private static let answerLimit = Duration.seconds(2)
  private static let answerLimitBytes = 4096
  private static let resetPulse = Duration.milliseconds(10)

  package let port: PortName.ChipLine
  private let chip: SimulatedChip
  private let line: chip_line_t
  private var inbox: [UInt8] = []
  private var answers: [UInt8] = []
  private var isPlugged = true

  package init(image: ChipImage, port: PortName.ChipLine, seed: UInt32) throws(RigTrouble) {
    chip = try SimulatedChip(image: image, seed: seed)
    self.port = port
    line = port == .usb ? CHIP_LINE_USB : CHIP_LINE_UART0
  }

  private init(copying other: ChipBoard) throws(RigTrouble) {
    chip = try other.chip.copy()
    (port, line, isPlugged) = (other.port, other.line, other.isPlugged)
  }

  /// Another board in the same state. Received bytes that were not read are not copied.
  package func copy() throws(RigTrouble) -> ChipBoard { try ChipBoard(copying: self) }

  package var now: Instant { chip.now }

  // MARK: The line

  package func write(_ bytes: [UInt8]) throws {
    guard isPlugged else { return }
    var rest = bytes[...]
    while true {
      rest = rest.dropFirst(chip.feed(rest, on: line))
      if rest.isEmpty { return }
      try run(until: now + Self.collectTime)
    }
  }

  package func read(until deadline: Instant) throws -> [UInt8] {
    guard isPlugged else {
      throw RigTrouble("the port is gone: it is unplugged", remedy: "plug it in, then open it again")
    }
    while inbox.isEmpty, now < deadline {
      try run(until: deadline, stopsAtOutput: true)
    }
    if !inbox.isEmpty { try run(until: min(deadline, now + Self.collectTime)) }
    defer { inbox = [] }
    return inbox
  }

  /// Runs up to a time, and keeps what the host receives.
  private func run(until end: Instant, stopsAtOutput: Bool = false) throws {
    repeat {
      do {
        let stop = try chip.run(until: end, stopsAtOutput: stopsAtOutput)
        collect()
        if stopsAtOutput || stop == .time { return }
      } catch let fault as Failure {
        throw CaseEnd.fault(fault.message, file: #fileID, line: #line)
      }
    } while true
  }

  private func collect() {
    for other in [CHIP_LINE_UART0, CHIP_LINE_UART1, CHIP_LINE_USB] {
      let bytes = chip.drain(from: other)
      if other == line, isPlugged { inbox += bytes }
      // Firmware that prints there is none that answers commands.
      if other == CHIP_LINE_UART1, answers.count < Self.answerLimitBytes { answers += bytes }
    }
  }

  /// Runs up to a time; what the host receives until then is lost.
  func skip(until end: Instant) throws {
    try run(until: end)
    inbox = []
  }

  // MARK: The board

  /// Runs until the firmware serves its control line.
  ///
  /// - Returns: false if it does not within a second.
  func awaitReady() throws -> Bool {
    let end = now + Self.bootLimit
    while now < end {
      while let answer = popAnswer() { if answer == "ready" { return true } }
      try run(until: end, stopsAtOutput: true)
    }
    return false
  }

  /// Sends a command over the control line and returns the answer.
  ///
  /// - Throws: a finding without an answer within 2 s, or if the program breaks a rule.
  func perform(_ command: String) throws -> String {
    answers = []
    let bytes = Array("\(command)\n".utf8)
    guard chip.feed(bytes[...], on: CHIP_LINE_UART1) == bytes.count else {
      throw CaseEnd.fault("the firmware does not read its control line, UART1", file: #fileID, line: #line)
    }
    let end = now + Self.answerLimit
    while now < end {
      while let answer = popAnswer() { if answer != "ready" { return answer } }
      try run(until: end, stopsAtOutput: true)
    }
    throw CaseEnd.fault("the firmware does not answer '\(command)' on UART1", file: #fileID, line: #line)
  }

  private func popAnswer() -> String? {
    guard let end = answers.firstIndex(of: 0x0A) else { return nil }
    defer { answers.removeFirst(end + 1) }
    return String(decoding: answers[..<end], as: UTF8.self)
  }

  /// Resets the chip by the modem lines, as esptool does: EN of a UART's board, the core of a chip
  /// with USB.
  package func resetByLines() throws {
    chip.setLines(dtr: false, rts: true, of: line)
    try run(until: now + Self.resetPulse)
    chip.setLines(dtr: false, rts: false, of: line)
  }

  /// Takes the power away and returns it.
  package func powerCycle() { chip.powerCycle() }

  /// Disconnects the host. Bytes in flight are lost; the chip keeps running on another supply.
  package func unplug() {
    isPlugged = false
    chip.dropInput(on: line)
    inbox = []
    if port == .usb { chip.setUSBHost(CHIP_USB_UNPLUGGED) }
  }

  package func plug() {
    isPlugged = true
    if port == .usb { chip.setUSBHost(CHIP_USB_OPEN) }
  }

  /// Closes the port and opens it again. What the host has received and not read is lost.
  package func reopen() {
    plug()
    inbox = []
  }

  /// What the chip has done so far.
  package var statistics: Statistics {
    let statistics = chip.statistics
    return Statistics(
      time: .nanoseconds(Int64(clamping: statistics.now_ns)),
      awakeTime: .nanoseconds(Int64(clamping: statistics.awake_ns)), boots: statistics.boots,
      lostBytes: statistics.lost_bytes.0)
  }

  package struct Statistics: Equatable, Sendable {
    /// Since power-on.
    package var time: Duration
    /// Of it, with the CPU awake.
    package var awakeTime: Duration
    /// Starts of any kind.
    package var boots: UInt32
    /// By an overflow of UART0's FIFO.
    package var lostBytes: UInt32
  }
}
