import NotibotHost
import NotibotProtocol

/// A line of `outbox salvage`: a document that `forward` reads as a new notification, with the
/// outbox's state under a key that `forward` ignores.
struct SalvagedNotification: Encodable {
  /// As in `outbox list --json`.
  struct Origin: Encodable {
    var number: Int64
    var state: String
    var id: UInt32?
    var revision: UInt16?
    var hasNewerContent: Bool
    /// Whether its delivery was reported.
    var isDelivered: Bool
    var attError: UInt8?
  }

  private var app: String
  private var title: String
  private var text: String
  private var timestamp: UInt32
  private var lvl: UInt8?
  private var cat: UInt8?
  private var grp: String?
  private var act: [String]?
  private var exp: UInt32?
  private var fl: UInt8?
  private var key: String?
  private var outbox: Origin

  /// - Parameter key: that of its submission; one that is not UTF-8 is left out.
  init(_ entry: OutboxEntry, key: IdempotencyKey? = nil) {
    let content = entry.content
    app = content.app
    title = content.title
    text = content.text
    timestamp = content.timestamp
    let details = content.details
    lvl = details.level == .active ? nil : details.level.rawValue
    cat = details.category == 0 ? nil : details.category
    grp = details.group.isEmpty ? nil : details.group
    act = details.actions.isEmpty ? nil : details.actions
    exp = details.expires
    fl = details.flags == 0 ? nil : details.flags
    self.key = key.flatMap { String(validating: $0.bytes, as: UTF8.self) }
    let item = OutboxListing.Item(entry)
    outbox = Origin(
      number: item.number, state: item.state, id: item.id, revision: item.revision,
      hasNewerContent: item.hasNewerContent, isDelivered: entry.isReported, attError: item.attError)
  }
}
