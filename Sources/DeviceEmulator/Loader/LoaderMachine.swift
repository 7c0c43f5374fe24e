import DequeModule
package import NotibotProtocol

/// An output of a loader, for the device around it.
enum LoaderAction: Equatable, Sendable {
  case transmit([UInt8])
  /// The loader ends: the chip restarts, and boots what lies in its flash.
  case restart(ResetReason)
  /// The plug is pulled, and with it the supply.
  case unplug
}

/// The serial loader of a chip's ROM, and of the stub that a host loads into its RAM: takes a
/// host's bytes, answers its requests, and changes the flash.
///
/// Modes: *rom* → *stub* (a host has started code in RAM; what code that is makes no difference) →
/// *rom* by `reset`; *dead* after the supply failed, until `reset`. Within each mode one `Transfer`
/// runs at a time. Inputs: `receive`, `handleTimeout`, `setHostRate`; commands: `reset`,
/// `setFaults`; outputs: `nextAction`, `nextDeadline`. Source: esptool documentation, "Serial
/// Protocol", and Espressif's esp-flasher-stub.
package struct LoaderMachine: Equatable, Sendable {
  /// Which program answers.
  package enum Mode: String, Equatable, Sendable, Codable {
    case rom
    case stub
    /// The supply has failed.
    case dead
  }

  /// A transfer that takes several requests.
  enum Transfer: Equatable, Sendable {
    case none
    /// Code into RAM: bytes that are still announced.
    case memory(leftBytes: Int)
    case raw(FlashWrite)
    case compressed(FlashWrite, Inflate)
    case reading(FlashRead)
  }

  /// The rate of the chip's UART.
  enum Rate: Equatable, Sendable {
    /// Not known: the ROM measures it at SYNC.
    case unknown
    case known(UInt32)
  }

  private enum Output: Equatable, Sendable {
    case command(LoaderAction)
    /// From here on, bytes have another rate.
    case rate(UInt32)
  }

  /// The longest data of a block.
  static let blockLimitBytes = 16_384
  /// The longest request: the largest block and its headers.
  static let frameLimitBytes = LoaderRequest.headerBytes + 16 + blockLimitBytes
  /// Answers that nobody has taken, in bytes; further answers are lost.
  static let outputLimitBytes = 65_536
  /// From the start of the watchdog to the reset: longer than a host on a slow network takes to
  /// read the answer.
  static let watchdogTime = Duration.milliseconds(300)

  package let chip: ChipModel
  /// The base MAC address; nil for one of zeros.
  let deviceID: DeviceID?
  package internal(set) var flash: NORFlash
  package internal(set) var faults = LoaderFaults.off
  package internal(set) var mode = Mode.rom
  var transfer = Transfer.none
  var spi: SPIController
  var rate = Rate.unknown
  /// The rate that the host has set; nil if it is not known.
  var hostRate: UInt32?
  /// A failure of a write that was answered before it was carried out.
  var deferredFailure: LoaderFailure?
  var clock = Instant.zero
  var watchdogDeadline: Instant?
  /// Data blocks since the faults were set, and erased sectors.
  var blocks: UInt64 = 0
  var sectors: UInt64 = 0
  /// Why the content of the flash is not in its file; nil if it is.
  private(set) var fileFailure: String?
  package internal(set) var requests: UInt64 = 0
  /// Bytes that arrived at another rate than the chip's.
  package internal(set) var garbledBytes: UInt64 = 0
  private var decoder = SLIPDecoder(frameLimitBytes: frameLimitBytes)
  private var outputs: Deque<Output> = []
  private var outputBytes = 0

  package init(chip: ChipModel, deviceID: DeviceID?, flash: NORFlash) {
    self.chip = chip
    self.deviceID = deviceID
    self.flash = flash
    spi = SPIController(chip: chip)
  }

  // MARK: Inputs

  /// Takes bytes from the line.
  mutating func receive(_ bytes: [UInt8], now: Instant) {
    clock = now
    guard !isGarbled else {
      garbledBytes += UInt64(bytes.count)
      decoder.reset()
      return
    }
    var rest = bytes[...]
    while mode != .dead, let frame = decoder.nextFrame(from: &rest) { receive(frame) }
  }

  /// Sets the time, and performs what is due.
  mutating func handleTimeout(now: Instant) {
    clock = now
    guard let deadline = watchdogDeadline, now >= deadline else { return }
    watchdogDeadline = nil
    put(.restart(.otherWatchdog))
  }

  /// The host has set this rate, in bits per second.
  mutating func setHostRate(_ bitsPerSecond: UInt32) { hostRate = bitsPerSecond }

  // MARK: Commands

  /// EN was low: the ROM starts, and nothing is left but the flash.
  mutating func reset() {
    mode = fileFailure == nil ? .rom : .dead
    transfer = .none
    spi = SPIController(chip: chip)
    rate = .unknown
    deferredFailure = nil
    watchdogDeadline = nil
    decoder.reset()
    outputs = []
    outputBytes = 0
  }

  /// Changes the faults from now on; blocks and sectors are counted anew.
  mutating func setFaults(_ new: LoaderFaults) {
    faults = new
    blocks = 0
    sectors = 0
    flash.isWriteProtected = new.has(.writeProtect)
  }

  // MARK: Outputs

  /// The next output; nil if there is none.
  mutating func nextAction() -> LoaderAction? {
    while let output = outputs.popFirst() {
      switch output {
      case .rate(let new): rate = .known(new)
      case .command(.transmit(let bytes)):
        outputBytes -= bytes.count
        // At another rate, the host samples bits that are none.
        return .transmit(isGarbled ? bytes.map { $0 >> 1 | 0x80 } : bytes)
      case .command(let action): return action
      }
    }
    return nil
  }

  /// When `handleTimeout` is needed next.
  var nextDeadline: Instant? { watchdogDeadline }

  // MARK: Answers

  func status(_ failure: LoaderFailure?) -> [UInt8] {
    switch (mode, failure) {
    case (.rom, nil): [0, 0, 0, 0]
    case (.rom, let failure?): [1, failure.romCode, 0, 0]
    case (.stub, nil), (.dead, _): [0, 0]
    case (.stub, let failure?): [failure.stubCode, 0]
    }
  }

  /// Queues `01 op length16 value32 payload status`.
  mutating func answer(
    _ code: UInt8, value: UInt32 = 0, _ payload: [UInt8] = [], failure: LoaderFailure? = nil
  ) {
    let data = payload + status(failure)
    let length = UInt16(clamping: data.count)
    let header: [UInt8] = [1, code, UInt8(length & 0xFF), UInt8(length >> 8)]
    transmit(header + .littleEndian(value) + data)
  }

  /// Queues a frame.
  mutating func transmit(_ content: [UInt8]) {
    guard !faults.has(.noSync) else { return }
    let wire = SLIPDecoder.encoded(content)
    guard outputBytes + wire.count <= Self.outputLimitBytes else { return }
    outputBytes += wire.count
    outputs.append(.command(.transmit(wire)))
  }

  mutating func put(_ action: LoaderAction) { outputs.append(.command(action)) }

  /// Changes the rate after everything that is queued.
  mutating func changeRate(to bitsPerSecond: UInt32) { outputs.append(.rate(bitsPerSecond)) }

  /// The ranges of the flash that have changed since the last call.
  mutating func drainFlashChanges() -> [Range<Int>] { flash.drainChanges() }

  /// The flash cannot be stored: nothing is answered any more.
  mutating func fail(_ reason: String) {
    fileFailure = reason
    mode = .dead
    outputs = []
    outputBytes = 0
  }

  /// The supply fails: nothing is answered any more.
  mutating func die(_ action: LoaderAction) {
    mode = .dead
    transfer = .none
    outputs = [.command(action)]
    outputBytes = 0
  }

  /// Whether host and chip have rates that differ by more than a UART tolerates, 5 %.
  private var isGarbled: Bool {
    guard case .known(let own) = rate, let hostRate else { return false }
    return abs(Int64(own) - Int64(hostRate)) * 20 > Int64(own)
  }
}
