/// The keys of a line of `forward`'s input that are not part of the notification.
package struct SubmissionHead: Hashable, Sendable {
  /// The outbox's number of a notification.
  package var number: UInt32?
  package var change: String?
  package var key: String?

  /// Reads them in one pass, and checks the rest as JSON.
  package init(parsing json: [UInt8]) throws(NotificationError) {
    var reader = try JSONObjectReader(json, limitBytes: .max)
    while let name = try reader.nextKey() {
      if reader.key(name, is: "number") {
        number = try reader.wholeNumber(key: "number")
      } else if reader.key(name, is: "ev") {
        change = try reader.string(key: "ev")
      } else if reader.key(name, is: "key") {
        key = try reader.string(key: "key")
      } else {
        try reader.skipValue()
      }
    }
  }
}
