#if Gateway
import Foundation
package import GatewayRules
package import SerialLink

/// The small tables that commands write and a running gateway reads again when they change.
package enum GatewayTables {
  /// Bytes of a table's file, at most.
  private static let limitBytes = 8_000_000

  /// The versions of the tables that are loaded; nil: none yet.
  struct Versions: Hashable, Sendable {
    fileprivate var loaded: [String: PrivateFile.Version] = [:]
  }

  /// What a check has found; nil: a table is the same.
  struct Changes: Sendable {
    var versions: Versions
    var tokens: Result<DeviceTokens, Failure>?
    var trust: Result<[TrustedKey], Failure>?
    var mutes: Result<[Mute], Failure>?
  }

  /// Reads the tables that are not of these versions. Blocks, 10 to 20 µs without a change; inotify
  /// would not report changes by other computers on a network file system.
  static func changes(since versions: Versions, in folder: GatewayFolder) -> Changes {
    var changes = Changes(versions: versions)
    changes.tokens = changed(folder.tokens, &changes.versions, readTokens)
    changes.trust = changed(folder.trust, &changes.versions, readTrust)
    changes.mutes = changed(folder.mutes, &changes.versions, readMutes)
    return changes
  }

  private static func changed<Table>(
    _ path: String, _ versions: inout Versions, _ read: (String) throws(Failure) -> Table
  ) -> Result<Table, Failure>? {
    let found = PrivateFile.Version(of: path)
    let known = versions.loaded.updateValue(found, forKey: path)
    guard found != known else { return nil }
    // One that was there and is not: deleted, not empty.
    guard !found.isMissing || known == nil else {
      return .failure(Failure(.usage, "cannot read \(path): it is missing"))
    }
    return Result { () throws(Failure) in try read(path) }
  }

  private static func rows(_ path: String) throws(Failure) -> [JSONValue] {
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    let bytes = try PrivateFile.read(path, limitBytes: limitBytes)
    guard let rows = (try? JSONValue(parsing: bytes, limitBytes: limitBytes))?.array else {
      throw Failure(.usage, "cannot read \(path): it is not a JSON array")
    }
    return rows
  }

  private static func write(_ rows: [JSONValue], to path: String) throws(Failure) {
    try PrivateFile.write("[" + rows.map(\.line).joined(separator: ",\n ") + "]\n", to: path)
  }

  private static func bad(_ path: String) -> Failure {
    Failure(.usage, "cannot read \(path): a row is not valid")
  }

  // MARK: Device tokens

  package static func readTokens(_ path: String) throws(Failure) -> DeviceTokens {
    var tokens = DeviceTokens()
    for row in try rows(path) {
      guard let digest = bytes(row["digest"], count: 32), let topic = row["topic"]?.string,
        let name = row["name"]?.string, let created = row["created"]?.whole
      else { throw bad(path) }
      tokens.insert(
        DeviceToken(
          digest: digest, topic: topic, name: name, created: WallTime(milliseconds: created),
          revoked: row["revoked"]?.whole.map(WallTime.init(milliseconds:))))
    }
    return tokens
  }

  package static func write(_ tokens: DeviceTokens, to path: String) throws(Failure) {
    let rows = tokens.all.map { token in
      var row: [String: JSONValue] = [
        "digest": .string(hexText(token.digest)), "topic": .string(token.topic),
        "name": .string(token.name), "created": .whole(token.created.milliseconds),
      ]
      row["revoked"] = token.revoked.map { .whole($0.milliseconds) }
      return JSONValue.object(row)
    }
    try write(rows, to: path)
  }

  // MARK: Trusted keys

  package static func readTrust(_ path: String) throws(Failure) -> [TrustedKey] {
    var keys: [TrustedKey] = []
    for row in try rows(path) {
      guard let team = row["team"]?.string, let keyID = row["keyID"]?.string,
        let topics = row["topics"]?.array?.compactMap(\.string),
        let publicKey = bytes(row["publicKey"], count: 65)
      else { throw bad(path) }
      keys.append(TrustedKey(teamID: team, keyID: keyID, topics: topics, publicKey: publicKey))
    }
    return keys
  }

  package static func write(_ keys: [TrustedKey], to path: String) throws(Failure) {
    let rows = keys.map { key in
      JSONValue.object([
        "team": .string(key.teamID), "keyID": .string(key.keyID),
        "topics": .array(key.topics.map { .string($0) }), "publicKey": .string(hexText(key.publicKey)),
      ])
    }
    try write(rows, to: path)
  }

  // MARK: Mutes

  package static func readMutes(_ path: String) throws(Failure) -> [Mute] {
    var mutes: [Mute] = []
    for row in try rows(path) {
      guard let topic = row["topic"]?.string else { throw bad(path) }
      mutes.append(
        Mute(
          topic: topic, thread: row["thread"]?.string,
          until: row["until"]?.whole.map(WallTime.init(milliseconds:)),
          since: row["since"]?.whole.map(WallTime.init(milliseconds:))))
    }
    return mutes
  }

  package static func write(_ mutes: [Mute], to path: String) throws(Failure) {
    let rows = mutes.map { mute in
      var row: [String: JSONValue] = ["topic": .string(mute.topic)]
      row["thread"] = mute.thread.map { .string($0) }
      row["until"] = mute.until.map { .whole($0.milliseconds) }
      row["since"] = mute.since.map { .whole($0.milliseconds) }
      return JSONValue.object(row)
    }
    try write(rows, to: path)
  }

  // MARK: Registrations

  /// The registrations with the state of their tokens.
  package static func readRegistrations(
    _ path: String, tokens: DeviceTokens
  ) throws(Failure) -> [Registration] {
    var registrations: [Registration] = []
    for row in try rows(path) {
      guard let name = row["name"]?.string, let kind = row["as"]?.string.flatMap(Registration.Kind.init),
        let url = row["url"]?.string, let token = row["token"]?.string,
        let digest = DeviceToken.digest(ofHex: token),
        let address = try? CallbackAddress(parsing: url, "'url'")
      else { throw bad(path) }
      registrations.append(
        Registration(
          name: name, kind: kind, address: address, token: token, bearerPath: row["bearer"]?.string,
          authorityPath: row["authority"]?.string, isRevoked: tokens[digest].map { $0.revoked != nil } ?? true
        ))
    }
    return registrations
  }

  /// Adds a registration. `url` is the address as the user wrote it.
  package static func add(_ registration: Registration, url: String, to path: String) throws(Failure) {
    var rows = try rows(path)
    guard rows.count < RegistrationMachine.limit else {
      throw Failure(.usage, "there are \(RegistrationMachine.limit) registrations already")
    }
    var row: [String: JSONValue] = [
      "name": .string(registration.name), "as": .string(registration.kind.rawValue), "url": .string(url),
      "token": .string(registration.token),
    ]
    row["bearer"] = registration.bearerPath.map { .string($0) }
    row["authority"] = registration.authorityPath.map { .string($0) }
    rows.append(.object(row))
    try write(rows, to: path)
  }

  private static func bytes(_ value: JSONValue?, count: Int) -> [UInt8]? {
    guard let text = value?.string, text.utf8.count == count * 2 else { return nil }
    let digits = Array(text.utf8)
    let bytes = stride(from: 0, to: digits.count, by: 2).compactMap { index in
      UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16)
    }
    return bytes.count == count ? bytes : nil
  }
}
#endif
