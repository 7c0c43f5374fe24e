/// What a device tells about a stored notification, in a notification of Data. Source: PROTOCOL.md NTF-11.
///
/// `item` is the number of the notification in the order in which this boot of the device accepted them, from 1.
package enum DeviceEvent: Hashable, Sendable {
  case dismissed(item: UInt32)
  /// The action of number `act` was chosen.
  case action(item: UInt32, act: UInt32)
  /// Something else, as it came and unsanitised: another `ev`, or no valid JSON.
  case unknown([UInt8])

  /// Reads an event; what it cannot read is `unknown`.
  package init(parsing json: [UInt8]) {
    do {
      self = try DeviceEvent.read(json) ?? .unknown(json)
    } catch {
      self = .unknown(json)  // PROTOCOL.md section 5: handed on, whatever is wrong with it.
    }
  }

  /// The JSON of this event.
  package func encoded() -> [UInt8] {
    switch self {
    case .dismissed(let item): Array(#"{"ev":"dismissed","item":\#(item)}"#.utf8)
    case .action(let item, let act): Array(#"{"ev":"action","item":\#(item),"act":\#(act)}"#.utf8)
    case .unknown(let json): json
    }
  }

  private static func read(_ json: [UInt8]) throws(NotificationError) -> DeviceEvent? {
    var reader = try JSONObjectReader(json)
    var event: String?
    var item: UInt32?
    var act: UInt32?
    while let key = try reader.nextKey() {
      if reader.key(key, is: "ev") {
        event = try reader.string(key: "ev")
      } else if reader.key(key, is: "item") {
        item = try reader.wholeNumber(key: "item")
      } else if reader.key(key, is: "act") {
        act = try reader.wholeNumber(key: "act")
      } else {
        try reader.skipValue()
      }
    }
    switch (event, item, act) {
    case ("dismissed", let item?, _): return .dismissed(item: item)
    case ("action", let item?, let act?): return .action(item: item, act: act)
    default: return nil
    }
  }
}
