package import Conformance
import DeviceEmulator
import NotibotProtocol
package import SerialLink
import SuiteWire

/// An image for the ESP32-C3 on a model of the chip, in virtual time: the bytes that are flashed
/// are the bytes that run. Each case gets a chip after power-on, with the same flash.
///
/// A case that begins near the wrap of a 32-bit clock gets a chip that has run for that long; the
/// first such case waits for it.
package final class ChipRig: Rig {
  /// The chip is kept this long before the wrap, longer than any case begins before it.
  private static let agedLead = Duration.seconds(25)

  /// The number of SYNs, 500 ms apart, that an image can leave unanswered.
  private static let openingAttempts = 8
  /// Longer than a few of the longest frames take on the line.
  private static let settleTime = Duration.milliseconds(50)

  package let name = "chip"
  package let offers: Set<Need>
  package let bootID: String?
  package let image: ChipImage
  package let port: PortName.ChipLine
  private let hasControl: Bool
  private var aged: Aged?

  /// A chip that has run for nearly 2³² ms.
  private struct Aged {
    var board: ChipBoard
    /// UPTIME minus the chip's own time.
    var offset: Duration
  }

  /// Starts the image once to learn what it offers.
  ///
  /// - Throws: `RigTrouble` if there is no memory for a chip; `Failure` if the program
  ///   breaks a rule of the chip, or no device of the protocol is on the line.
  package init(image: ChipImage, port: PortName.ChipLine) async throws {
    self.image = image
    self.port = port
    do {
      let board = try ChipBoard(image: image, port: port, seed: 1)
      hasControl = try board.awaitReady()
      let probe = Probe(line: board, role: .host, record: Record(), seed: 1)
      try await probe.open(attempts: Self.openingAttempts)
      bootID = probe.session.bootID.map { Wire.hexNumber($0) }
      let isStrict = try await probe.request([0x12, 6, 0, 0x7B]) != [0x13]
      let common: Set<Need> = [.virtualTime, .session, .reopen, isStrict ? .strict : .firmwareMode]
      offers = hasControl ? common.union([.control, .strict, .firmwareMode]) : common
    } catch CaseEnd.finding(let finding) {
      throw Failure(untestable: "chip:\(image.path)", finding.message)
    }
  }

  package func makeBench(for testCase: Case, seed: UInt64) async throws -> Bench {
    let board = try await makeBoard(for: testCase, seed: UInt32(truncatingIfNeeded: seed))
    let control = hasControl ? ChipControl(board: board) : nil
    if testCase.needs.contains(.firmwareMode) { try await control?.perform(.mode(.firmware)) }
    let bench = Bench(line: board, control: control, clock: .virtual, seed: seed)
    bench.reopenPort = { board.reopen() }
    // Several events leave one after the other, at the pace of the line.
    bench.probe.settleTime = Self.settleTime
    return bench
  }

  package func finish(_ bench: Bench) {}

  package func close() {}

  private func makeBoard(for testCase: Case, seed: UInt32) async throws -> ChipBoard {
    guard testCase.leadToWrap != nil else {
      let board = try ChipBoard(image: image, port: port, seed: seed)
      _ = try board.awaitReady()
      return board
    }
    let aged = try await agedChip()
    let board = try aged.board.copy()
    let start = testCase.clockStart(otherwise: .zero)
    // The aged chip has been alone: its HELLOs are of long ago.
    try board.skip(until: Instant(nanoseconds: (start - .zero - aged.offset).wholeNanoseconds))
    return board
  }

  private func agedChip() async throws -> Aged {
    if let aged { return aged }
    let board = try ChipBoard(image: image, port: port, seed: 1)
    _ = try board.awaitReady()
    let other = try board.copy()
    let probe = Probe(line: other, role: .host, record: Record(), seed: 1)
    try await probe.openSession()
    let uptime = probe.session.announced.number(of: 0x0D) ?? 0
    let offset = Duration.milliseconds(Int64(clamping: uptime)) - (other.now - .zero)
    let wrap = Duration.milliseconds(Int64(1) << 32)
    try board.skip(until: Instant(nanoseconds: (wrap - Self.agedLead - offset).wholeNanoseconds))
    let aged = Aged(board: board, offset: offset)
    self.aged = aged
    return aged
  }
}

/// Actions on the board other than over the line under test: the plug, and records of
/// `nb_control.h` in hexadecimal on UART1.
private final class ChipControl: DeviceControl {
  private let board: ChipBoard

  init(board: ChipBoard) {
    self.board = board
  }

  func attempt(_ command: DeviceCommand) throws -> String? {
    if command == .unplug {
      board.unplug()
    } else if command == .plug {
      board.plug()
    } else {
      let answer = try board.perform(BoardControl.line(command.firmwareRecord ?? []))
      if let refusal = try BoardControl.refusal(in: answer, to: command) { return refusal }
      if case .reboot = command, try !board.awaitReady() {
        throw CaseEnd.fault("the firmware does not start again", file: #fileID, line: #line)
      }
    }
    return nil
  }

  /// From the answer to `stats`: names and numbers.
  func receiverCounters() throws -> DecoderCounters {
    let words = try board.perform("stats").split(separator: " ").dropFirst()
    var values: [Substring: UInt64] = [:]
    var name: Substring?
    for word in words {
      if let known = name { values[known] = UInt64(word) }
      name = name == nil ? word : nil
    }
    guard let echoes = values["echoes"], let overruns = values["overruns"] else {
      throw CaseEnd.skip("the firmware does not report the receiver's counters")
    }
    return DecoderCounters(
      frames: values["frames"] ?? 0, crcErrors: values["crc_errors"] ?? 0,
      malformed: values["malformed"] ?? 0, textBytes: values["text_bytes"] ?? 0, echoes: echoes,
      overruns: overruns)
  }
}
