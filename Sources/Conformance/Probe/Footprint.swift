import NotibotProtocol
import SuiteWire

/// The changes that a case has made to a device: the identities that it wrote and the time that it
/// set, according to its sent bytes.
package struct Footprint: Sendable {
  /// The maximum number of kept bytes of a value written in parts: more than any device accepts.
  private static let partsLimitBytes = 4096

  /// The ids that were written, by their `src`.
  private(set) package var identities: [UInt32: Set<UInt32>] = [:]
  /// Whether a SYN contained a CLOCK.
  private(set) package var hasSetClock = false
  /// Whether notifications without an identity were written that can expire.
  package var hasExpiring = false
  private var splitter = FrameSplitter(from: .host)
  /// Of the latest SYN or SYNC.
  private var source: UInt32?
  private var parts: [UInt8] = []
  private let data: [UInt8]

  /// - Parameter handles: those of the device.
  package init(_ handles: HandleMap = HandleMap()) { data = Wire.u16(handles.device(6)) }

  /// Records bytes that were sent on the line in a session.
  mutating func record(_ bytes: [UInt8]) {
    splitter.receive(bytes)
    for case .frame(let frame) in splitter.drainItems() { record(frame) }
  }

  /// Records a frame that was sent.
  mutating func record(_ frame: WireFrame) {
    if frame.kind == .syn {
      let tlvs = TLV.parse(frame.payload) ?? []
      source = tlvs.number(of: 0x07).map { UInt32(truncatingIfNeeded: $0) }
      hasSetClock = hasSetClock || tlvs.value(of: 0x09) != nil
    } else if frame.kind == .data, frame.channel == 0, frame.payload.first == 1, frame.payload.count >= 19 {
      let synced = UInt32(Wire.number(Array(frame.payload[1..<5])))
      if synced != 0 { source = synced }
    } else if frame.kind == .data, frame.channel == 4 {
      record(pdu: frame.payload)
    }
  }

  private mutating func record(pdu: [UInt8]) {
    if pdu.starts(with: [0x12] + data) {
      record(json: Array(pdu.dropFirst(3)))
    } else if pdu.starts(with: [0x16] + data), pdu.count >= 5 {
      keep(part: pdu.dropFirst(5), at: Int(Wire.word(pdu, at: 3)))
    } else if pdu == [0x18, 1] {
      record(json: parts)
    }
  }

  private mutating func keep(part: ArraySlice<UInt8>, at offset: Int) {
    if offset == 0 { parts = [] }
    guard offset + part.count <= Self.partsLimitBytes else { return }
    parts = Array(parts.prefix(offset)) + part
  }

  private mutating func record(json: [UInt8]) {
    guard let identity = (try? WrittenNotification(parsing: json, keys: .all))?.identity,
      let source = identity.source ?? source, source != 0
    else { return }
    identities[source, default: []].insert(identity.id)
  }
}
