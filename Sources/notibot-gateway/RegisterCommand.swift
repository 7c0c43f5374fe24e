#if Gateway
import ArgumentParser
import Foundation
import GatewayRules
import NotibotGateway
import SerialLink

/// `notibot-gateway register`: a device token that a backend gets at each start.
struct RegisterCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "register",
    abstract: "Issue a device token, and register it with a backend as the app of a phone does.",
    discussion: """
      The running gateway registers it now and at each start, and takes it back after "token revoke". The token is \
      kept in registrations.json, because it has to be repeated. "status" shows the result.
      """)

  @OptionGroup var options: FolderOptions

  @Option(name: .customLong("as"), help: ArgumentHelp("Backend: lucifer or dayly.", valueName: "backend"))
  var kind: String

  @Option(
    help: ArgumentHelp("Base address of the backend: https, or http on this computer.", valueName: "url"))
  var url: String

  @Option(help: ArgumentHelp("Topic of the backend's pushes.", valueName: "bundle-id"))
  var topic: String

  @Option(help: ArgumentHelp("Name of the token (default: the backend).", valueName: "text"))
  var name: String?

  @Option(
    help: ArgumentHelp("File with the bearer's token, mode 0600.", valueName: "path"), completion: .file())
  var bearer: String?

  @Option(
    help: ArgumentHelp(
      "File with the authority of the backend's certificate (default: the system's).", valueName: "path"),
    completion: .file())
  var authority: String?

  func run() async throws {
    Termination.release()
    let folder = options.folder
    try folder.check()
    guard let kind = Registration.Kind(rawValue: kind) else {
      let names = Registration.Kind.allCases.map(\.rawValue).joined(separator: " or ")
      throw Failure(.usage, "the backend is not known", remedy: "use --as \(names)")
    }
    let address: CallbackAddress
    do {
      address = try CallbackAddress(parsing: url, "--url")
    } catch {
      throw Failure(.usage, "\(error)")
    }
    if let bearer { try PrivateFile.checkMode(of: bearer) }
    let name = name ?? kind.rawValue
    let tokens = try GatewayTables.readTokens(folder.tokens)
    let known = try GatewayTables.readRegistrations(folder.registrations, tokens: tokens)
    guard !known.contains(where: { $0.name == name }) else {
      throw Failure(.usage, "there is a registration with this name", remedy: "use --name")
    }
    let token = try TokenCommand.issue(topic: topic, name: name, in: folder)
    try GatewayTables.add(
      Registration(
        name: name, kind: kind, address: address, token: token, bearerPath: bearer.map(Self.absolute),
        authorityPath: authority.map(Self.absolute)),
      url: url, to: folder.registrations)
    await CommandClient.reload(folder)
  }

  private static func absolute(_ path: String) -> String { URL(filePath: path).standardizedFileURL.path }
}

extension CommandClient {
  /// A running gateway acts on changed tables now; without one, the next start does.
  static func reload(_ folder: GatewayFolder) async {
    _ = try? await request("POST", "/v1/reload", to: folder)
  }
}
#endif
