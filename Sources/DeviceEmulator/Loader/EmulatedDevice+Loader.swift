import FirmwareImages
import NotibotProtocol

/// The chip below the application: its loader.
extension EmulatedDevice {
  /// The chip; that of a board without a known one is an ESP32-C3.
  var chipModel: ChipModel { loader?.chip ?? .named(.esp32c3) }

  /// Whether the loader runs.
  var isLoading: Bool { loader != nil && chip == .download }

  /// The time between two resets of a chip that finds nothing to boot: no less, so that its text
  /// does not fill the line.
  static let bootLoopTime = Duration.milliseconds(500)

  /// The ROM starts: looks at what lies in the flash, and prints what it does with that.
  mutating func startROM(after reason: ResetReason) {
    bootOutcome = loader.map { BootOutcome(chip: $0.chip, flash: $0.flash) }
    let loadText: String
    switch bootOutcome {
    case nil: loadText = BootText.usualLoadText
    case .application(let booted)?: loadText = booted.loadText
    case .failure(let text, _)?:
      loadText = text
      state = .restarting(until: clock + max(profile.rebootTime, Self.bootLoopTime), reason)
    }
    guard profile.console.hasBootText else { return }
    log(BootText.rom(after: reason, of: chipModel, loadText: loadText))
  }

  /// Passes bytes to the loader if it runs, or if they start it. Returns false if they are the
  /// application's.
  mutating func receiveForLoader(_ bytes: [UInt8]) -> Bool {
    switch state {
    case .downloading:
      loader?.receive(bytes, now: clock)
      return true
    case .held:
      return false
    case .running, .restarting:
      guard loaderEntry == .sync, loader?.faults.has(.bootMode) == false, let rest = syncWatch.receive(bytes)
      else { return false }
      standStill(.downloading)
      loader?.receive(rest, now: clock)
      return true
    }
  }

  /// The next bytes of the loader; nil if it has none, or does not run.
  mutating func nextLoaderOutput() -> [UInt8]? {
    guard isLoading, console.isEmpty, let action = loader?.nextAction() else { return nil }
    switch action {
    case .transmit(let bytes):
      bytesSent += UInt64(bytes.count)
      return bytes
    case .restart(let reason):
      restart(reason)
    case .unplug:
      hasLostPlug = true
      restart(.powerOn)
    }
    return nil
  }
}

/// The state and the counters of a loader and its flash.
package struct LoaderStatistics: Equatable, Sendable, Codable {
  package var chip: ChipModel.Name
  /// Which program answers in download mode: rom, stub, or dead after the supply failed.
  package var mode: LoaderMachine.Mode
  package var requests: UInt64
  /// Data blocks since the faults were set.
  package var blocks: UInt64
  package var erasedSectors: UInt64
  package var programmedBytes: UInt64
  /// Bytes that arrived at another rate than the chip's.
  package var garbledBytes: UInt64
  package var faults: String
  /// What the chip has booted, such as `notibot 1.2.3 at 0x10000`; nil if it finds nothing to boot.
  package var application: String?
  /// Why the content of the flash is not in its file; nil if it is.
  package var fileFailure: String?

  init(_ loader: LoaderMachine, booted: BootedApplication?) {
    application = booted.map {
      "\($0.descriptor?.project ?? "unknown") \($0.descriptor?.version ?? "") at 0x\(String($0.offset, radix: 16))"
    }
    chip = loader.chip.name
    mode = loader.mode
    requests = loader.requests
    blocks = loader.blocks
    erasedSectors = loader.flash.erasedSectors
    programmedBytes = loader.flash.programmedBytes
    garbledBytes = loader.garbledBytes
    faults = loader.faults.description
    fileFailure = loader.fileFailure
  }
}
