import CChip
package import Conformance
import FirmwareImages
package import NotibotProtocol
import SerialLink

/// A model of the ESP32-C3 with an image in its flash, on a clock that starts at power-on. It
/// belongs to one task.
package final class SimulatedChip {
  /// Why a run stopped.
  package enum Stop: Equatable {
    case time
    /// There is something to take.
    case output
  }

  /// CHIP_TIME_LIMIT_NS.
  private static let timeLimitNs: Int64 = 180 * 24 * 3600 * 1_000_000_000

  private let chip: OpaquePointer

  /// - Parameters:
  ///   - image: the content of its flash.
  ///   - seed: decides the RAM's content after power-on, and random numbers.
  /// - Throws: `RigTrouble` if there is no memory for it, or the image is too large.
  package init(image: ChipImage, seed: UInt32) throws(RigTrouble) {
    // The range of locally administered addresses.
    let mac: (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8) = (0x02, 0x4E, 0x42, 0xC3, 0x00, 0x01)
    let created = image.bytes.withUnsafeBufferPointer { flash in
      var config = chip_config_t(
        flash: flash.baseAddress, flash_bytes: flash.count, mac: mac, seed: seed, usb_host: CHIP_USB_OPEN)
      return chip_create(&config)
    }
    guard let created else {
      throw RigTrouble("the model of the chip refuses \(image.path)", remedy: "check its size")
    }
    chip = created
  }

  private init(chip: OpaquePointer) { self.chip = chip }

  /// Another chip in the same state. Throws `RigTrouble` if there is no memory for it.
  package func copy() throws(RigTrouble) -> SimulatedChip {
    guard let copy = chip_copy(chip) else {
      throw RigTrouble("there is no memory for another chip", remedy: "close other programs")
    }
    return SimulatedChip(chip: copy)
  }

  deinit { chip_destroy(chip) }

  /// Time since it was created.
  package var now: Instant { Instant(nanoseconds: Int64(clamping: statistics.now_ns)) }

  var statistics: chip_statistics_t {
    var statistics = chip_statistics_t()
    chip_get_statistics(chip, &statistics)
    return statistics
  }

  /// Runs until a time, or until there is something to take from any line.
  ///
  /// - Throws: `Failure` if the program broke a rule of the chip, or used what is not modelled:
  ///   final until the next power-on. A finding at the end of the model's time, after 180 days.
  package func run(until end: Instant, stopsAtOutput: Bool) throws -> Stop {
    let end = UInt64(max(0, end.nanoseconds))
    switch chip_run(chip, end, stopsAtOutput) {
    case CHIP_STOP_OUTPUT, CHIP_STOP_FULL: return .output
    case CHIP_STOP_FAULT:
      let fault = chip_fault(chip).pointee
      let text = withUnsafeBytes(of: fault.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      let place = "pc 0x\(hex(fault.pc, digits: 8).lowercased())"
      throw Failure(.deviceRestarted, "the program broke a rule of the chip: \(text) (\(place))")
    default:
      guard end <= Self.timeLimitNs || now.nanoseconds < Self.timeLimitNs else {
        throw CaseEnd.fault("180 days have passed, the model's time ends", file: #fileID, line: #line)
      }
      return .time
    }
  }

  /// Queues bytes of the host, which arrive at the line's pace. Returns how many there was room
  /// for.
  func feed(_ bytes: ArraySlice<UInt8>, on line: chip_line_t) -> Int {
    bytes.withUnsafeBufferPointer { chip_feed(chip, line, $0.baseAddress, $0.count) }
  }

  /// Drops bytes of the host that have not arrived.
  func dropInput(on line: chip_line_t) { chip_drop_input(chip, line) }

  /// Everything that the host has received, which is then removed.
  func drain(from line: chip_line_t) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Int(CHIP_OUTPUT_LIMIT_BYTES)) { buffer, count in
      count = chip_take(chip, line, buffer.baseAddress, buffer.count)
    }
  }

  func setLines(dtr: Bool, rts: Bool, of line: chip_line_t) { chip_set_lines(chip, line, dtr, rts) }

  func setRate(_ bitsPerSecond: UInt32, of line: chip_line_t) { chip_set_rate(chip, line, bitsPerSecond) }

  func setUSBHost(_ host: chip_usb_host_t) { chip_set_usb_host(chip, host) }

  /// RAM, RTC memory and registers are lost; the flash stays.
  func powerCycle() { chip_power_cycle(chip) }
}
