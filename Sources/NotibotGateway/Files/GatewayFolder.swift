#if Gateway
import Foundation
package import GatewayRules
package import SerialLink

/// The folder of a gateway: configuration, keys, tables. Others must not read it.
package struct GatewayFolder: Hashable, Sendable {
  package let path: String

  package init(path: String) {
    self.path = path
  }

  /// `$XDG_CONFIG_HOME/notibot/gateway`, or below `~/.config`.
  package static func defaultPath(environment: [String: String]) -> String {
    (UserFolder.configuration.path(environment: environment) ?? "/.config/notibot") + "/gateway"
  }

  /// A path of the configuration: relative to the folder.
  func path(of name: String) -> String { name.hasPrefix("/") ? name : file(name) }

  package func file(_ name: String) -> String { path + "/" + name }

  package var configuration: String { file("gateway.json") }
  package var authority: String { file("ca.pem") }
  package var authorityKey: String { file("ca.key") }
  package var certificate: String { file("leaf.pem") }
  package var certificateKey: String { file("leaf.key") }
  package var tokens: String { file("tokens.json") }
  package var trust: String { file("trust.json") }
  package var mutes: String { file("mutes.json") }
  package var registrations: String { file("registrations.json") }
  package var profiles: String { file("profiles") }
  package var outbox: String { file("outbox.sqlite") }
  package var store: String { file("gateway.sqlite") }
  package var socket: String { file("gateway.sock") }

  /// Creates the folder with mode 0700, or checks that it has no wider one; also that of profiles.
  package func prepare() throws(Failure) {
    for path in [path, profiles] {
      do {
        try FileManager.default.createDirectory(
          atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      } catch {
        throw Failure(.noPermission, "cannot create the folder \(path): \(errorText(error))")
      }
      if path == self.path { try PrivateFile.checkMode(of: path) }
    }
  }

  /// Throws if the path is too long for that of the socket in it.
  package func checkLength() throws(Failure) {
    guard socket.utf8.count > UnixSocket.pathLimitBytes else { return }
    let limit = UnixSocket.pathLimitBytes - socket.utf8.count + path.utf8.count
    throw Failure(
      .usage,
      "the path of the folder \(path) has \(path.utf8.count) bytes; for the socket in it, at most "
        + "\(limit) are possible", remedy: "choose a shorter one with --directory")
  }

  /// Throws unless the folder exists, is ours and is closed to others.
  package func check() throws(Failure) {
    try checkLength()
    guard FileManager.default.fileExists(atPath: configuration) else {
      throw Failure(.usage, "\(path) is not a gateway's folder", remedy: "run notibot-gateway init")
    }
    try PrivateFile.checkMode(of: path)
    for name in [certificateKey, authorityKey, tokens, trust, registrations]
    where FileManager.default.fileExists(atPath: name) { try PrivateFile.checkMode(of: name) }
  }

  package func readConfiguration() throws(Failure) -> GatewayConfiguration {
    let bytes = try PrivateFile.read(configuration, limitBytes: GatewayConfiguration.fileLimitBytes)
    do {
      return try GatewayConfiguration(parsing: bytes)
    } catch {
      throw Failure(.usage, "cannot read \(configuration): \(error)")
    }
  }

  /// The profiles of the folder, in the order of their names.
  package func readProfiles() throws(Failure) -> [TopicProfile] {
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: profiles)
    } catch {
      throw Failure(.usage, "cannot read the folder \(profiles): \(errorText(error))")
    }
    var found: [TopicProfile] = []
    var owners: [String: String] = [:]
    for name in names.sorted() where name.hasSuffix(".json") {
      let file = profiles + "/" + name
      let bytes = try PrivateFile.read(file, limitBytes: TopicProfile.fileLimitBytes)
      do {
        found.append(try TopicProfile(parsing: bytes))
      } catch {
        throw Failure(.usage, "cannot read \(file): \(error)")
      }
      for topic in found.last?.topics ?? [] {
        guard let owner = owners.updateValue(name, forKey: topic) else { continue }
        throw Failure(
          .usage, "\(owner) and \(name) in \(profiles) are both for the topic '\(topic)'",
          remedy: "remove it from one of them")
      }
    }
    return found
  }
}
#endif
