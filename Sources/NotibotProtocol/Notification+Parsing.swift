extension Notification {
  /// Reads a notification's JSON as a device does, all of NTF-1 to NTF-5 checked.
  package init(parsing json: [UInt8]) throws(NotificationError) {
    try self.init(
      reading: JSONObjectReader(json), appLimitBytes: NotificationLimits.appBytes,
      titleLimitBytes: NotificationLimits.titleBytes)
  }

  /// Reads JSON that is still to be cut to a device's limits (NTF-7): of any length that the caller allows, all else
  /// of NTF-1 to NTF-5 checked.
  package init(parsingUncut json: [UInt8]) throws(NotificationError) {
    try self.init(
      reading: JSONObjectReader(json, limitBytes: .max), appLimitBytes: .max, titleLimitBytes: .max)
  }

  private init(
    reading reader: JSONObjectReader, appLimitBytes: Int, titleLimitBytes: Int
  ) throws(NotificationError) {
    var reader = reader
    var app: String?
    var title: String?
    var text: String?
    var timestamp: UInt32?
    while let key = try reader.nextKey() {
      if reader.key(key, is: "app") {
        app = try reader.string(key: "app", limitBytes: appLimitBytes)
      } else if reader.key(key, is: "title") {
        title = try reader.string(key: "title", limitBytes: titleLimitBytes)
      } else if reader.key(key, is: "text") {
        text = try reader.string(key: "text")
      } else if reader.key(key, is: "timestamp") {
        timestamp = try reader.wholeNumber(key: "timestamp")
      } else {
        try reader.skipValue()
      }
    }
    guard let app else { throw NotificationError(.missingKey("app"), at: reader.offset) }
    guard let title else { throw NotificationError(.missingKey("title"), at: reader.offset) }
    guard let text else { throw NotificationError(.missingKey("text"), at: reader.offset) }
    guard let timestamp else { throw NotificationError(.missingKey("timestamp"), at: reader.offset) }
    self.init(app: app, title: title, text: text, timestamp: timestamp)
  }
}

extension JSONObjectReader {
  /// The string that stands here, of at most `limitBytes` of UTF-8 after unescaping.
  fileprivate mutating func string(key: String, limitBytes: Int) throws(NotificationError) -> String {
    let start = offset
    let string = try string(key: key)
    guard string.utf8.count <= limitBytes else {
      throw NotificationError(.valueTooLong(key: key, lengthBytes: string.utf8.count), at: start)
    }
    return string
  }
}
