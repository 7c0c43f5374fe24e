/// A device's event about a stored notification, sent as a notification of Data. Source:
/// PROTOCOL.md NTF-11, NTF-26, NTF-29.
///
/// `item` is the number of the notification in the order in which this boot of the device accepted
/// them, from 1.
package enum DeviceEvent: Hashable, Sendable {
  case dismissed(item: UInt32)
  /// The action of number `act` was chosen.
  case action(item: UInt32, act: UInt32)
  /// A notification with an identity is gone. `item` is 0 when the device no longer knows it
  /// (NTF-26).
  case gone(GoneReason, NotificationKey, item: UInt32)
  /// The action of number `act` of a notification with an identity was chosen. `revision` is that
  /// of the text on the display; `nil` if the device does not report it (NTF-29).
  case actionOf(NotificationKey, item: UInt32, act: UInt32, revision: UInt16?)
  /// Anything else, unchanged and unsanitised: another `ev`, or invalid JSON.
  case unknown([UInt8])

  /// Parses an event; one that cannot be parsed is `unknown`.
  package init(parsing json: [UInt8]) {
    do {
      self = try DeviceEvent.read(json) ?? .unknown(json)
    } catch {
      self = .unknown(json)  // PROTOCOL.md section 5: passed on unchanged.
    }
  }

  /// The JSON of this event.
  package func encoded() -> [UInt8] {
    switch self {
    case .dismissed(let item): Array(#"{"ev":"dismissed","item":\#(item)}"#.utf8)
    case .action(let item, let act): Array(#"{"ev":"action","item":\#(item),"act":\#(act)}"#.utf8)
    case .gone(let reason, let key, let item):
      Array(#"{"ev":"\#(reason.name)"\#(Self.member(item: item)),"id":\#(key.id),"src":\#(key.source)}"#.utf8)
    case .actionOf(let key, let item, let act, let revision):
      Self.actionOf(key, item: item, act: act, revision: revision)
    case .unknown(let json): json
    }
  }

  private static func actionOf(
    _ key: NotificationKey, item: UInt32, act: UInt32, revision: UInt16?
  ) -> [UInt8] {
    let rev = revision.map { #","rev":\#($0)"# } ?? ""
    return Array(
      #"{"ev":"action"\#(member(item: item)),"act":\#(act),"id":\#(key.id),"src":\#(key.source)\#(rev)}"#.utf8
    )
  }

  private static func member(item: UInt32) -> String {
    item == 0 ? "" : #","item":\#(item)"#
  }

  private static func read(_ json: [UInt8]) throws(NotificationError) -> DeviceEvent? {
    var reader = try JSONObjectReader(json)
    var event: String?
    var item: UInt32?
    var act: UInt32?
    var id: UInt32?
    var source: UInt32?
    var revision: UInt32?
    while let key = try reader.nextKey() {
      if reader.key(key, is: "ev") {
        event = try reader.string(key: "ev")
      } else if reader.key(key, is: "item") {
        item = try reader.wholeNumber(key: "item")
      } else if reader.key(key, is: "act") {
        act = try reader.wholeNumber(key: "act")
      } else if reader.key(key, is: "id") {
        // On a plain device it can have another meaning (NTF-11).
        id = try reader.wholeNumberIfAny()
      } else if reader.key(key, is: "src") {
        source = try reader.wholeNumberIfAny()
      } else if reader.key(key, is: "rev") {
        revision = try reader.wholeNumberIfAny()
      } else {
        try reader.skipValue()
      }
    }
    if let id, let source, id != 0, source != 0 {
      let key = NotificationKey(source: source, id: id)
      if event == "action", let act {
        return .actionOf(key, item: item ?? 0, act: act, revision: revision.flatMap { UInt16(exactly: $0) })
      }
      if let reason = GoneReason.allCases.first(where: { $0.name == event }) {
        return .gone(reason, key, item: item ?? 0)
      }
    }
    switch (event, item, act) {
    case ("dismissed", let item?, _): return .dismissed(item: item)
    case ("action", let item?, let act?): return .action(item: item, act: act)
    default: return nil
    }
  }
}
