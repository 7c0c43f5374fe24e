extension DisplayNotification {
  /// Parses a notification's JSON as a plain device does, with all checks of NTF-1 to NTF-5.
  package init(parsing json: [UInt8]) throws(NotificationError) {
    self = try WrittenNotification(parsing: json, keys: .four).notification
  }

  /// Parses JSON that is not yet cut to a device's limits (NTF-7): of any length that the caller
  /// allows, with all other checks of NTF-1 to NTF-5 and the details of NTF-20. An identity is
  /// checked and ignored.
  package init(parsingDetailed json: [UInt8]) throws(NotificationError) {
    self = try WrittenNotification(parsingUncut: json, keys: .all).notification
  }
}

extension WrittenNotification {
  /// Parses the JSON of a write as a device does, with all checks of NTF-1 to NTF-5 and NTF-20.
  package init(parsing json: [UInt8], keys: Keys) throws(NotificationError) {
    var reader = NotificationReader(try JSONObjectReader(json), keys: keys, limits: .device)
    self = try reader.read()
  }

  /// Parses JSON that is not yet cut to a device's limits (NTF-7).
  package init(parsingUncut json: [UInt8], keys: Keys) throws(NotificationError) {
    var reader = NotificationReader(
      try JSONObjectReader(json, limitBytes: .max), keys: keys, limits: .none)
    self = try reader.read()
  }
}

/// Collects the members of a notification's JSON.
private struct NotificationReader {
  /// Whether texts must be within the limits of NTF-3 and NTF-20.
  enum Limits {
    case device
    case none
  }

  private var reader: JSONObjectReader
  private let keys: WrittenNotification.Keys
  private let limits: Limits
  private var app: String?
  private var title: String?
  private var text: String?
  private var timestamp: UInt32?
  private var details = NotificationDetails()
  private var id: UInt32?
  private var revision: UInt16?
  private var change: NotificationIdentity.Change?
  private var source: UInt32?

  init(_ reader: JSONObjectReader, keys: WrittenNotification.Keys, limits: Limits) {
    self.reader = reader
    self.keys = keys
    self.limits = limits
  }

  mutating func read() throws(NotificationError) -> WrittenNotification {
    while let key = try reader.nextKey() {
      if try readOne(of: key) { continue }
      switch keys {
      case .four: try reader.skipValue()
      case .all: if try !readOptional(key) { try reader.skipValue() }
      }
    }
    guard let app else { throw NotificationError(.missingKey("app"), at: reader.offset) }
    guard let title else { throw NotificationError(.missingKey("title"), at: reader.offset) }
    guard let text else { throw NotificationError(.missingKey("text"), at: reader.offset) }
    guard let timestamp else { throw NotificationError(.missingKey("timestamp"), at: reader.offset) }
    let notification = DisplayNotification(
      app: app, title: title, text: text, timestamp: timestamp, details: details)
    return WrittenNotification(notification: notification, identity: try identity())
  }

  /// Handles the four keys; false if it is none of them.
  private mutating func readOne(of key: JSONObjectReader.Key) throws(NotificationError) -> Bool {
    if reader.key(key, is: "app") {
      app = try string("app", limitBytes: NotificationLimits.appBytes)
    } else if reader.key(key, is: "title") {
      title = try string("title", limitBytes: NotificationLimits.titleBytes)
    } else if reader.key(key, is: "text") {
      text = try string("text", limitBytes: .max)
    } else if reader.key(key, is: "timestamp") {
      timestamp = try reader.wholeNumber(key: "timestamp")
    } else {
      return false
    }
    return true
  }

  /// Handles the keys of NTF-20; false if it is none of them.
  private mutating func readOptional(_ key: JSONObjectReader.Key) throws(NotificationError) -> Bool {
    if reader.key(key, is: "id") {
      id = try number("id", in: 1...UInt32.max)
    } else if reader.key(key, is: "rev") {
      revision = UInt16(try number("rev", in: 0...65_535))
    } else if reader.key(key, is: "ev") {
      let start = reader.offset
      let name = try reader.string(key: "ev")
      change = NotificationIdentity.Change.allCases.first { $0.name == name }
      guard change != nil else { throw NotificationError(.valueNotAllowed(key: "ev"), at: start) }
    } else if reader.key(key, is: "lvl") {
      let level = NotificationDetails.Level(rawValue: UInt8(try number("lvl", in: 0...3)))
      details.level = level ?? .active
    } else if reader.key(key, is: "cat") {
      details.category = UInt8(try number("cat", in: 0...255))
    } else if reader.key(key, is: "grp") {
      details.group = try string("grp", limitBytes: NotificationLimits.groupBytes)
    } else if reader.key(key, is: "act") {
      details.actions = try actions()
    } else if reader.key(key, is: "exp") {
      details.expires = try reader.wholeNumber(key: "exp")
    } else if reader.key(key, is: "fl") {
      details.flags = UInt8(try number("fl", in: 0...255))
    } else if reader.key(key, is: "src") {
      source = try number("src", in: 1...UInt32.max)
    } else {
      return false
    }
    return true
  }

  private func identity() throws(NotificationError) -> NotificationIdentity? {
    guard let id else {
      guard revision == nil, source == nil, change ?? .added == .added else {
        throw NotificationError(.missingKey("id"), at: reader.offset)
      }
      return nil
    }
    return NotificationIdentity(id: id, revision: revision ?? 0, change: change ?? .added, source: source)
  }

  private mutating func actions() throws(NotificationError) -> [String] {
    let start = reader.offset
    let limitBytes =
      switch limits {
      case .device: NotificationLimits.actionBytes
      case .none: Int.max
      }
    let labels = try reader.strings(key: "act", limit: NotificationLimits.actions)
    for label in labels where label.utf8.count > limitBytes {
      throw NotificationError(.valueTooLong(key: "act", lengthBytes: label.utf8.count), at: start)
    }
    return labels
  }

  private mutating func number(
    _ key: String, in range: ClosedRange<UInt32>
  ) throws(NotificationError) -> UInt32 {
    let start = reader.offset
    let value = try reader.wholeNumber(key: key)
    guard range.contains(value) else { throw NotificationError(.numberOutOfRange(key: key), at: start) }
    return value
  }

  /// The string at this position, at most `limitBytes` of UTF-8 after unescaping.
  private mutating func string(_ key: String, limitBytes: Int) throws(NotificationError) -> String {
    let start = reader.offset
    let string = try reader.string(key: key)
    switch limits {
    case .none: return string
    case .device:
      guard string.utf8.count <= limitBytes else {
        throw NotificationError(.valueTooLong(key: key, lengthBytes: string.utf8.count), at: start)
      }
      return string
    }
  }
}
