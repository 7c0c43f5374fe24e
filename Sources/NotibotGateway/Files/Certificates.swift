#if Gateway
import Foundation
import NIOCore
package import SerialLink

/// The certificates of a gateway, made by the program `openssl`: an authority that senders trust,
/// and the server's certificate. Files are replaced one by one, and the key stays, so that they
/// belong together at any time.
package enum Certificates {
  /// Days that a server's certificate is valid.
  package static let leafDays = 90
  /// Days that the authority is valid.
  package static let authorityDays = 3650
  /// Ends a hang.
  private static let limit = Duration.seconds(30)

  /// Makes what is missing of authority and key, and a server's certificate.
  ///
  /// - Parameter names: its addresses and host names; nil: those of the present one.
  package static func make(in folder: GatewayFolder, names: [String]?) async throws(Failure) {
    guard names?.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isNameCharacter) }) ?? true else {
      throw Failure(.usage, "a name of the certificate is neither an address nor a host name")
    }
    if !exists(folder.authority) { try await makeAuthority(in: folder) }
    guard exists(folder.authorityKey) else {
      throw Failure(
        .unfitEnvironment, "\(folder.authorityKey) is missing",
        remedy: "put it there, run notibot-gateway init --renew, and keep it elsewhere again")
    }
    if !exists(folder.certificateKey) { try await makeKey(folder.certificateKey) }
    try await write(to: folder.file("leaf.csr"), request(in: folder, names))
    defer { unlink(folder.file("leaf.csr")) }
    try await write(
      to: folder.certificate,
      [
        "x509", "-req", "-in", folder.file("leaf.csr"), "-CA", folder.authority, "-CAkey",
        folder.authorityKey, "-set_serial", "\(UInt64.random(in: 1 ... .max))", "-sha256", "-days",
        "\(leafDays)", "-copy_extensions", "copyall",
      ])
  }

  /// Whether the server's certificate is of the authority; true if nobody can say.
  static func isOwn(in folder: GatewayFolder) async -> Bool {
    let words = ["verify", "-no_check_time", "-CAfile", folder.authority, folder.certificate]
    guard let process = try? await TiedProcess.start("/usr/bin/env", arguments: ["openssl"] + words) else {
      return true
    }
    // 2: it could not be verified.
    return await process.exitCode(within: limit) != 2
  }

  private static func makeAuthority(in folder: GatewayFolder) async throws(Failure) {
    try await makeKey(folder.authorityKey)
    try await write(
      to: folder.authority,
      [
        "req", "-x509", "-new", "-key", folder.authorityKey, "-sha256", "-days", "\(authorityDays)",
        "-subj", "/CN=Notibot gateway authority", "-addext", "basicConstraints=critical,CA:TRUE,pathlen:0",
        "-addext", "keyUsage=critical,keyCertSign,cRLSign",
      ])
  }

  private static func makeKey(_ path: String) async throws(Failure) {
    try await write(to: path, ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"])
  }

  private static func request(in folder: GatewayFolder, _ names: [String]?) -> [String] {
    let key = ["-key", folder.certificateKey]
    guard let names else {
      return ["x509", "-x509toreq", "-in", folder.certificate, "-copy_extensions", "copyall"] + key
    }
    let alternatives = names.map { ($0.contains(":") || isIPv4($0) ? "IP:" : "DNS:") + $0 }
    let extensions = [
      "basicConstraints=critical,CA:FALSE", "keyUsage=critical,digitalSignature",
      "extendedKeyUsage=serverAuth", "subjectAltName=" + alternatives.joined(separator: ","),
    ]
    return ["req", "-new", "-subj", "/CN=Notibot gateway"] + key + extensions.flatMap { ["-addext", $0] }
  }

  private static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  private static func isIPv4(_ name: String) -> Bool {
    name.split(separator: ".", omittingEmptySubsequences: false).count == 4
      && name.split(separator: ".").allSatisfy { UInt8($0) != nil }
  }

  /// Nothing that could end a line or a field of openssl's configuration.
  private static func isNameCharacter(_ character: Character) -> Bool {
    character.isASCII && (character.isLetter || character.isNumber || ".-:*".contains(character))
  }

  /// Writes to a file what a run of `openssl` prints, which is less than a pipe holds.
  private static func write(to path: String, _ arguments: [String]) async throws(Failure) {
    let pipe = Pipe()
    let process: TiedProcess
    do {
      process = try await TiedProcess.start(
        "/usr/bin/env", arguments: ["openssl"] + arguments,
        output: pipe.fileHandleForWriting.fileDescriptor)
    } catch {
      throw Failure(error)
    }
    switch await process.exitCode(within: limit) {
    case 0: break
    case 127: throw openssl("is missing")
    case nil: throw openssl("\(arguments[0]) did not end")
    case .some(let code):
      let words = (try? await process.ended.get()) ?? ""
      let reason = words.split(separator: "\n").first.map { String($0.prefix(200)) } ?? "ended with \(code)"
      throw openssl("\(arguments[0]) failed: \(reason)")
    }
    try? pipe.fileHandleForWriting.close()
    let bytes = (try? pipe.fileHandleForReading.readToEnd()) ?? Data()
    try PrivateFile.write(String(decoding: bytes, as: UTF8.self), to: path)
  }

  private static func openssl(_ problem: String) -> Failure {
    Failure(
      .unfitEnvironment, "the program openssl \(problem)", remedy: "install openssl 3.0 or newer")
  }
}
#endif
