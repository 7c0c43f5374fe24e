import Glibc
import NotibotProtocol
package import SerialLink
import Synchronization
import SuiteWire

/// A folder with the bytes of each case: `ID.pcapng` for Wireshark, `ID.to-device.bin` and
/// `ID.from-device.bin` as they passed. In an id, `/` becomes `_`; a further run of a case has its
/// number behind it.
package final class TraceFolder: Sendable {
  /// The link types of DLT_USER0, a frame or text, and DLT_USER1, a PDU of a connection.
  static let linkTypes: (frame: UInt16, pdu: UInt16) = (147, 148)

  private let path: String
  private let state = Mutex<(runs: [String: Int], failure: Failure?)>(([:], nil))

  /// Creates the folder if it is missing. Throws if files could not be written there.
  package init(_ path: String) throws(Failure) {
    self.path = path
    guard mkdir(path, 0o777) == 0 || errno == EEXIST else { throw Failure(writing: path, errno) }
    // An empty file fits on a full disk.
    let check = "\(path)/.check-\(getpid())"
    defer { unlink(check) }
    try WholeFile.write([UInt8](repeating: 0, count: Self.checkBytes), to: check)
  }

  /// The trace of some cases.
  private static let checkBytes = 1 << 20

  /// Why a file could not be written, the first time.
  package var failure: Failure? { state.withLock(\.failure) }

  /// Writes the files of one run of a case.
  func write(_ record: Record, of testCase: Case) {
    let run = state.withLock { state in
      state.runs[testCase.id, default: 0] += 1
      return state.runs[testCase.id] ?? 1
    }
    let name = "\(path)/\(testCase.id.replacing("/", with: "_"))" + (run == 1 ? "" : "-\(run)")
    do throws(Failure) {
      for (direction, isSent) in [("to", true), ("from", false)] {
        let bytes = record.passed.lazy.filter { $0.isSent == isSent }.flatMap(\.bytes)
        try WholeFile.write(bytes, to: "\(name).\(direction)-device.bin")
      }
      try WholeFile.write(Self.capture(of: record, testCase), to: "\(name).pcapng")
    } catch {
      state.withLock { $0.failure = $0.failure ?? error }
    }
  }

  /// A capture with a packet for each frame, piece of text or PDU, at the time of its last byte.
  /// Source: PCAP Next Generation Capture File Format, draft-ietf-opsawg-pcapng.
  static func capture(of record: Record, _ testCase: Case) -> [UInt8] {
    let linkType = record.hasRecords ? linkTypes.pdu : linkTypes.frame
    let comment = "\(testCase.id): \(testCase.title)"
    var file = block(0x0A0D_0D0A, u32(0x1A2B_3C4D) + u16(1) + u16(0) + [UInt8](repeating: 0xFF, count: 8))
    file += block(
      1, u16(linkType) + u16(0) + u32(0) + option(9, [9]) + option(1, Array(comment.utf8)) + option(0, []))
    for packet in packets(of: record) {
      let time = UInt64(clamping: packet.time.nanoseconds)
      let length = u32(UInt32(packet.bytes.count))
      file += block(
        6,
        u32(0) + u32(UInt32(time >> 32)) + u32(UInt32(truncatingIfNeeded: time)) + length + length
          + padded(packet.bytes) + option(2, u32(packet.isSent ? 2 : 1)) + option(0, []))
    }
    return file
  }

  private static func packets(of record: Record) -> [Record.Passed] {
    var directions = [true, false].map { ($0, LinePieces(hasRecords: record.hasRecords)) }
    var packets: [Record.Passed] = []
    for passed in record.passed {
      packets += directions[passed.isSent ? 0 : 1].1.receive(passed.bytes).map {
        Record.Passed(bytes: $0, isSent: passed.isSent, time: passed.time)
      }
    }
    let end = record.passed.last?.time ?? .zero
    return packets
      + directions.filter { !$0.1.rest.isEmpty }.map {
        Record.Passed(bytes: $0.1.rest, isSent: $0.0, time: end)
      }
  }

  private static func block(_ type: UInt32, _ body: [UInt8]) -> [UInt8] {
    let length = u32(UInt32(body.count + 12))
    return u32(type) + length + body + length
  }

  private static func option(_ code: UInt16, _ value: [UInt8]) -> [UInt8] {
    u16(code) + u16(UInt16(value.count)) + padded(value)
  }

  private static func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: -bytes.count & 3)
  }

  private static func u16(_ value: UInt16) -> [UInt8] { Wire.u16(value) }
  private static func u32(_ value: UInt32) -> [UInt8] { Wire.u32(value) }
}
