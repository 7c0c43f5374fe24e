package import Conformance
import DeviceEmulator
package import NotibotProtocol

/// The C reference firmware in this process on a virtual clock, a new one for each case. It shares
/// no line of code with the emulator or the host, so that it is a third implementation of
/// PROTOCOL.md.
package final class FirmwareRig: Rig {
  package let name = "firmware"
  package let offers: Set<Need>
  private let profile: FirmwareProfile
  private let library: FirmwareLibrary
  private let clockStart: Instant
  private let wrapLine: (any Line) -> any Line

  /// - Parameters:
  ///   - library: the build of the firmware.
  ///   - clockStart: the start of a bench's clock, if its case does not set it; the firmware's own
  ///     clock is that in milliseconds, modulo 2³².
  ///   - wrapLine: an adapter between the case and the device, such as one with faults.
  package init(
    profile: FirmwareProfile = .standard, library: FirmwareLibrary = .linked,
    clockStart: Instant = .zero, wrapLine: @escaping (any Line) -> any Line = { $0 }
  ) {
    self.profile = profile
    self.library = library
    self.clockStart = clockStart
    self.wrapLine = wrapLine
    let offers: Set<Need> = [.control, .virtualTime, .firmwareMode, .session]
    self.offers = profile.isFirmwareMode ? offers : offers.union([.strict])
  }

  package func makeBench(for testCase: Case, seed: UInt64) throws -> Bench {
    var profile = profile
    if testCase.needs.contains(.firmwareMode) { profile.isFirmwareMode = true }
    let clockStart = testCase.clockStart(otherwise: clockStart)
    let device = try FirmwareDevice(profile: profile, library: library, seed: seed, now: clockStart)
    let line = VirtualLine(peer: device, now: clockStart)
    return Bench(line: wrapLine(line), control: FirmwareControl(line: line), clock: .exact, seed: seed)
  }

  package func finish(_ bench: Bench) {}

  package func close() {}
}

/// The control channel of a virtual line: direct calls of the firmware.
private final class FirmwareControl: DeviceControl {
  /// `NB_ERROR_INVALID` of the control port, not of the device behind it (nb_control.h).
  private static let unknownRecord: Int32 = -5

  private let line: VirtualLine<FirmwareDevice>

  init(line: VirtualLine<FirmwareDevice>) {
    self.line = line
  }

  func attempt(_ command: DeviceCommand) throws -> String? {
    guard let record = command.firmwareRecord else {
      throw CaseEnd.skip("a line in the same process has no plug")
    }
    let result = line.withPeer { $0.perform(record, now: line.now) }
    guard result != Self.unknownRecord else { throw RigTrouble.unknown(command) }
    return result == 0 ? nil : "error \(result)"
  }

  func receiverCounters() throws -> DecoderCounters { line.peer.receiverCounters }
}

extension DeviceCommand {
  /// The same as a record of `nb_control.h`; nil for commands that it does not have.
  var firmwareRecord: [UInt8]? {
    switch self {
    case .reboot(.panic): [10] + Array("requested by a test".utf8)
    case .reboot: [1]
    case .dismiss(let item): [2] + item.littleEndianBytes
    case .action(let item, let act): [3] + item.littleEndianBytes + [act]
    case .log(let text): [4] + Array(text.utf8)
    case .fill(let count): [5] + UInt32(clamping: count).littleEndianBytes
    case .clear: [6]
    case .stall: [7] + UInt32(0).littleEndianBytes
    case .resume: [8]
    case .close: [11]
    case .mode(.strict): [9, 0]
    case .mode(.firmware): [9, 1]
    case .unplug, .plug, .faults, .loaderFaults, .statistics, .list: nil
    }
  }
}

extension UInt32 {
  fileprivate var littleEndianBytes: [UInt8] {
    [UInt8(self & 0xFF), UInt8(self >> 8 & 0xFF), UInt8(self >> 16 & 0xFF), UInt8(self >> 24)]
  }
}

extension RigTrouble {
  /// The firmware's control port does not know a command.
  static func unknown(_ command: DeviceCommand) -> RigTrouble {
    RigTrouble(
      "the firmware's control port does not know \(command)",
      remedy: "build the firmware with the nb_control.h of this program")
  }
}
