import NotibotProtocol

/// The chip below the application: its loader.
extension EmulatedDevice {
  /// The chip; that of a board without a known one is an ESP32-C3.
  var chipModel: ChipModel { loader?.chip ?? .named(.esp32c3) }

  /// Whether the loader runs.
  var isLoading: Bool { loader != nil && chip == .download }

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
      guard loaderEntry == .sync, loader?.faults.has(.bootMode) == false, let rest = syncWatch.take(bytes)
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
  /// Why the content of the flash is not in its file; nil if it is.
  package var fileFailure: String?

  init(_ loader: LoaderMachine) {
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
