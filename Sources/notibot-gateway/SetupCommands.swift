#if Gateway
import ArgumentParser
import Foundation
import GatewayRules
import NotibotGateway
import SerialLink

/// `notibot-gateway init`: folder, certificates, configuration.
struct InitCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "init", abstract: "Create the folder, the certificates and the configuration.")

  @OptionGroup var options: FolderOptions

  @Option(help: ArgumentHelp("Port of the board (default: auto).", valueName: "name"))
  var port: String?

  @Option(
    help: ArgumentHelp(
      "Additional address or host name of the certificate; repeatable.", valueName: "name"))
  var name: [String] = []

  @Option(
    help: ArgumentHelp(
      "Profile to copy into the folder, a file or one of \(KnownProfiles.names); repeatable.",
      valueName: "name"))
  var profile: [String] = []

  @Flag(help: "Replace an existing server certificate: another end, or other names. Its key stays.")
  var renew = false

  func run() async throws {
    Termination.release()
    let folder = options.folder
    // Everything that can be wrong with the arguments, before the first file is written.
    try folder.checkLength()
    try Certificates.check(names: name)
    _ = try port.map(PortName.init(parsing:))
    let profiles = try profile.map(content)
    let isThere = FileManager.default.fileExists(atPath: folder.certificate)
    let isConfigured = FileManager.default.fileExists(atPath: folder.configuration)
    guard !isConfigured || port == nil else {
      throw Failure(
        .usage, "\(folder.configuration) exists", remedy: "change 'port' in it, or use run --port")
    }
    guard renew || !isThere || name.isEmpty else {
      throw Failure(.usage, "\(folder.certificate) exists", remedy: "add --renew to replace it")
    }
    try folder.prepare()
    if renew || !isThere {
      let names = ["127.0.0.1", "::1", "localhost"] + name
      let keepsNames = try name.isEmpty && Certificates.isUsable(folder.certificate)
      if isThere, name.isEmpty, !keepsNames {
        GatewayProgram.note(
          "\(folder.certificate) is damaged: the new one has the names \(names.joined(separator: ", ")); "
            + "add others with --renew --name NAME")
      }
      try await Certificates.make(in: folder, names: keepsNames ? nil : names)
    }
    try Certificates.checkFiles(in: folder)
    if !isConfigured {
      try PrivateFile.write(
        "{\"port\": \(jsonString(port ?? "auto")),\n \"apns\": \"127.0.0.1:2197\",\n"
          + " \"http\": \"127.0.0.1:2586\"}\n",
        to: folder.configuration)
    }
    for (name, text) in profiles { try PrivateFile.write(text, to: folder.profiles + "/" + name) }
    GatewayProgram.data(
      """
      folder       \(folder.path)
      authority    \(folder.authority)  (senders need it to trust the certificate)
      next         notibot-gateway trust --team TEAM --key-id KEY --topic TOPIC AuthKey.p8
                   notibot-gateway token new --topic TOPIC
                   notibot-gateway run

      """)
  }

  /// The name and the text of a profile's copy.
  private func content(of path: String) throws -> (name: String, text: String) {
    let known = KnownProfiles.all[path]
    var bytes = known ?? []
    if known == nil {
      do throws(Failure) {
        bytes = try PrivateFile.read(path, limitBytes: TopicProfile.fileLimitBytes)
      } catch {
        throw Failure(error.kind, error.message, remedy: "use a file or one of \(KnownProfiles.names)")
      }
    }
    do {
      _ = try TopicProfile(parsing: bytes)
    } catch {
      throw Failure(.usage, "cannot read \(path): \(error)")
    }
    let name = known == nil ? URL(filePath: path).lastPathComponent : path + ".json"
    return (name, String(decoding: bytes, as: UTF8.self))
  }
}

/// `notibot-gateway trust`: the key of a sender.
struct TrustCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trust", abstract: "Trust a sender's key for its topics; without a key, list them.",
    discussion: """
      The key is the .p8 file of the sender or its public key, in PEM; only the public key is kept. The same team and \
      key again replace the earlier ones.
      """)

  @OptionGroup var options: FolderOptions

  @Option(help: ArgumentHelp("Team of the sender, as in its tokens.", valueName: "id"))
  var team: String?

  @Option(help: ArgumentHelp("Identifier of the key.", valueName: "id"))
  var keyID: String?

  @Option(help: ArgumentHelp("Topic that the sender is allowed to use; repeatable.", valueName: "bundle-id"))
  var topic: [String] = []

  @Argument(help: ArgumentHelp("PEM file, or - for standard input.", valueName: "key"))
  var key: String?

  func run() throws {
    Termination.release()
    let folder = options.folder
    try folder.check()
    var keys = try GatewayTables.readTrust(folder.trust)
    guard let key else {
      let rows = keys.map { "\($0.teamID)  \($0.keyID)  \($0.topics.joined(separator: ","))\n" }
      return GatewayProgram.data(rows.joined())
    }
    guard let team, let keyID, !topic.isEmpty else {
      throw Failure(.usage, "a key needs --team, --key-id and --topic")
    }
    try check("team", team, KeyName.problem)
    try check("key id", keyID, KeyName.problem)
    for topic in topic { try check("topic", topic, Topic.problem) }
    let bytes =
      try key == "-"
      ? PrivateFile.readInput(limitBytes: 8192)
      : PrivateFile.read(key, limitBytes: 8192)
    guard let publicKey = ProviderKey.publicKey(inPEM: String(decoding: bytes, as: UTF8.self)) else {
      throw Failure(
        .usage, "\(key) has no P-256 key in PEM", remedy: "it begins with -----BEGIN PRIVATE KEY-----")
    }
    keys.removeAll { $0.teamID == team && $0.keyID == keyID }
    keys.append(TrustedKey(teamID: team, keyID: keyID, topics: topic, publicKey: publicKey))
    try GatewayTables.write(keys, to: folder.trust)
  }
}

/// `notibot-gateway token`: what senders call a device.
struct TokenCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "Issue, list and revoke device tokens.",
    subcommands: [New.self, List.self, Revoke.self])

  /// Issues a token, and returns its 64 digits.
  static func issue(topic: String, name: String, in folder: GatewayFolder) throws -> String {
    try check("topic", topic, Topic.problem)
    var tokens = try GatewayTables.readTokens(folder.tokens)
    guard tokens.all.count < DeviceTokens.limit else {
      throw Failure(.usage, "there are \(DeviceTokens.limit) tokens already")
    }
    var generator = SystemRandomNumberGenerator()
    let text = hexText((0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    guard let digest = DeviceToken.digest(ofHex: text) else {
      throw Failure(.unfitEnvironment, "cannot make a device token")
    }
    tokens.insert(DeviceToken(digest: digest, topic: topic, name: name, created: .ofThisComputer()))
    try GatewayTables.write(tokens, to: folder.tokens)
    return text
  }

  struct New: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Issue a device token, and print its 64 digits once.")

    @OptionGroup var options: FolderOptions

    @Option(help: ArgumentHelp("Topic of the sender.", valueName: "bundle-id"))
    var topic: String

    @Option(help: ArgumentHelp("Name for lists and for revoke (default: the topic).", valueName: "text"))
    var name: String?

    func run() throws {
      Termination.release()
      let folder = options.folder
      try folder.check()
      let text = try TokenCommand.issue(topic: topic, name: name ?? topic, in: folder)
      GatewayProgram.data(text + "\n")
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "List the tokens: label, topic, name, state. The tokens themselves are not kept.")

    @OptionGroup var options: FolderOptions

    func run() throws {
      Termination.release()
      try options.folder.check()
      for token in try GatewayTables.readTokens(options.folder.tokens).all {
        let state = token.revoked == nil ? "valid" : "revoked"
        GatewayProgram.data("\(token.label)  \(token.topic)  \(state)  \(token.name)\n")
      }
    }
  }

  struct Revoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Revoke tokens: their senders get 410 Unregistered.")

    @OptionGroup var options: FolderOptions

    @Argument(help: ArgumentHelp("Name or label.", valueName: "name"))
    var name: String

    func run() async throws {
      Termination.release()
      let folder = options.folder
      try folder.check()
      var tokens = try GatewayTables.readTokens(folder.tokens)
      guard tokens.revoke(name, now: .ofThisComputer()) > 0 else {
        throw Failure(.usage, "there is no valid token with this name or label")
      }
      try GatewayTables.write(tokens, to: folder.tokens)
      // A backend that it is registered with is asked to forget it.
      await CommandClient.reload(folder)
    }
  }
}

/// `notibot-gateway mute`: topics and groups that are not shown.
struct MuteCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mute", abstract: "Mute a topic or a group of it; without a topic, list what is muted.")

  @OptionGroup var options: FolderOptions

  @Argument(help: ArgumentHelp("Topic.", valueName: "topic"))
  var topic: String?

  @Option(help: ArgumentHelp("Only this group: the sender's thread id.", valueName: "id"))
  var group: String?

  @Option(help: ArgumentHelp("Duration, 1-525600 (default: until --off).", valueName: "minutes"))
  var minutes: Int64?

  @Flag(help: "Unmute it.")
  var off = false

  func validate() throws {
    guard minutes.map({ (1...525_600).contains($0) }) ?? true else {
      throw ValidationError("--minutes must be 1 to 525600")
    }
    guard topic != nil || group == nil && minutes == nil && !off else {
      throw ValidationError("give a topic with --group, --minutes or --off")
    }
  }

  func run() throws {
    Termination.release()
    let folder = options.folder
    try folder.check()
    let now = WallTime.ofThisComputer()
    var mutes = try GatewayTables.readMutes(folder.mutes).filter { $0.until.map { now < $0 } ?? true }
    guard let topic else {
      for mute in mutes {
        let rest = mute.until.map { "\(($0.seconds - now.seconds + 59) / 60) minutes" } ?? "until --off"
        GatewayProgram.data("\(mute.topic)  \(mute.thread ?? "all groups")  \(rest)\n")
      }
      return
    }
    let former = mutes.count
    mutes.removeAll { $0.topic == topic && $0.thread == group }
    if off {
      let others = mutes.filter { $0.topic == topic }.map {
        $0.thread.map { "--group '\($0)'" } ?? "no --group"
      }
      guard mutes.count < former || others.isEmpty else {
        throw Failure(
          .usage, "this is not muted; of \(topic) there is muted: \(others.joined(separator: ", "))",
          remedy: "repeat it with that")
      }
    } else {
      try check("topic", topic, Topic.problem)
      guard mutes.count < 1000 else {
        throw Failure(.usage, "1000 topics and groups are muted already")
      }
      mutes.append(
        Mute(
          topic: topic, thread: group, until: minutes.map { now.adding(milliseconds: $0 * 60_000) },
          since: now))
    }
    try GatewayTables.write(mutes, to: folder.mutes)
  }
}

/// Throws if a name that the user gave can never match.
private func check(_ kind: String, _ name: String, _ problem: (String) -> (words: String, remedy: String)?)
  throws
{
  guard let (words, remedy) = problem(name) else { return }
  throw Failure(.usage, "the \(kind) '\(name)' can never match: \(words)", remedy: remedy)
}

extension WallTime {
  /// Now.
  static func ofThisComputer() -> WallTime {
    WallTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
  }
}
#endif
