import SuiteWire

/// Notifications and messages that a device sent without a request, in the order of the wire.
package struct Unsolicited: Equatable, Sendable {
  /// One notification or message.
  package enum Item: Equatable, Sendable, CustomStringConvertible {
    /// The JSON of a notification of Data.
    case event(String)
    /// A message on channel 0 other than SYNCED.
    case message([UInt8])
    /// A notification of Count.
    case count(UInt16)
    case other([UInt8])

    package var description: String {
      switch self {
      case .event(let json): json
      case .message(let bytes): bytes.isEmpty ? "an empty message" : PayloadText.sync(bytes)
      case .count(let value): "Count \(value)"
      case .other(let pdu): PayloadText.attribute(pdu)
      }
    }
  }

  package var items: [Item] = []
  /// Those before the answer to the latest write; what the write causes comes behind it (ATT-18).
  package var beforeAnswer: [Item] = []
  /// Whether GONE can replace an event that does not fit (NTF-26).
  private var takesGONE = false

  package init() {}

  /// - Parameter isNarrow: whether an event can be too long for a notification here.
  mutating func add(_ frame: WireFrame, isNarrow: Bool) {
    takesGONE = takesGONE || isNarrow
    if frame.channel == 0 {
      items.append(.message(frame.payload))
    } else if frame.payload.starts(with: [0x1B, 6, 0]) {
      items.append(.event(String(decoding: frame.payload.dropFirst(3), as: UTF8.self)))
    } else if frame.payload.starts(with: [0x1B, 3, 0]) {
      items.append(.count(Wire.word(frame.payload, at: 3)))
    } else {
      items.append(.other(frame.payload))
    }
  }

  /// The JSON of each notification of Data.
  package var events: [String] {
    items.compactMap { if case .event(let json) = $0 { json } else { nil } }
  }

  /// The messages on channel 0.
  package var messages: [[UInt8]] {
    items.compactMap { if case .message(let bytes) = $0 { bytes } else { nil } }
  }

  /// The values of Count.
  package var counts: [UInt16] {
    items.compactMap { if case .count(let value) = $0 { value } else { nil } }
  }

  /// The members of each event.
  private var members: [[String: String]] { events.map { EventMembers.parse($0) } }

  /// The GONE messages, if they can replace an event.
  private var goneMessages: [[UInt8]] { takesGONE ? messages.filter { $0.first == 4 } : [] }

  /// The reason as a code of GONE.
  private static func code(of reason: String) -> UInt8 {
    ["dismissed": 1, "evicted": 2, "expired": 3][reason] ?? 0
  }

  /// How many events report that a notification is gone, for this reason; `item`, if given, must
  /// match too. GONE, which has no item, counts if an event might not fit.
  package func count(_ reason: String, _ source: UInt32, _ id: UInt32, item: UInt32? = nil) -> Int {
    let messages = goneMessages.filter { $0 == [4, Self.code(of: reason)] + Wire.u32(source) + Wire.u32(id) }
    return messages.count
      + members.filter {
        $0["\"ev\""] == "\"\(reason)\"" && $0["\"id\""] == "\(id)" && $0["\"src\""] == "\(source)"
          && (item == nil || $0["\"item\""] == item.map { "\($0)" })
      }.count
  }

  /// The item numbers in the events of a notification, in order.
  package func items(_ source: UInt32, _ id: UInt32) -> [UInt32] {
    members.filter { $0["\"src\""] == "\(source)" && $0["\"id\""] == "\(id)" }
      .compactMap { $0["\"item\""].flatMap { UInt32($0) } }
  }

  /// The events with neither an id nor a src.
  package var plainEvents: [String] {
    zip(events, members).filter { $1["\"id\""] == nil && $1["\"src\""] == nil }.map(\.0)
  }

  /// How many events report that an action of a notification was chosen.
  package func actions(_ source: UInt32, _ id: UInt32, act: UInt32) -> Int {
    members.filter {
      $0["\"ev\""] == "\"action\"" && $0["\"id\""] == "\(id)" && $0["\"src\""] == "\(source)"
        && $0["\"act\""] == "\(act)"
    }.count
  }

  /// The ids of `source` that events report as gone, whatever the reason, in order.
  package func goneIDs(_ source: UInt32) -> [UInt32] {
    members.filter { $0["\"src\""] == "\(source)" && $0["\"ev\""] != "\"action\"" }
      .compactMap { $0["\"id\""].flatMap { UInt32($0) } }
      + goneMessages.filter { $0.count == 10 && Array($0[2..<6]) == Wire.u32(source) }
      .map { UInt32(Wire.number(Array($0[6..<10]))) }
  }
}
