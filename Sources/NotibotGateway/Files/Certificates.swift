#if Gateway
import Foundation
import NIOCore
import NIOSSL
package import SerialLink

/// The certificates of a gateway, made by the program `openssl`: an authority that senders trust,
/// and the server's certificate. Files are replaced one by one, and a key that can be read stays,
/// so that they belong together at any time.
package enum Certificates {
  /// Days that a server's certificate is valid.
  package static let leafDays = 90
  /// Days that the authority is valid.
  package static let authorityDays = 3650
  /// Ends a hang.
  private static let limit = Duration.seconds(30)
  /// Bytes of a file, at most.
  static let limitBytes = 1 << 20

  /// Throws unless each is an address or a host name.
  package static func check(names: [String]) throws(Failure) {
    guard names.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isNameCharacter) }) else {
      throw Failure(.usage, "a name of the certificate is neither an address nor a host name")
    }
  }

  /// Throws unless the files that senders and servers need can be read.
  package static func checkFiles(in folder: GatewayFolder) throws(Failure) {
    let (authority, server) = (folder.authority, folder.certificate)
    for path in [authority, server, folder.certificateKey] {
      if try isUsable(path) { continue }
      throw Failure(
        .usage, "\(path) is \(exists(path) ? "damaged" : "missing")",
        remedy: "run notibot-gateway init --renew, which makes it again")
    }
  }

  /// Whether a certificate, or the private key in a file `.key`, can be read. False for a missing
  /// file; throws if the system does not let it be read.
  package static func isUsable(_ path: String) throws(Failure) -> Bool {
    guard exists(path) else { return false }
    let bytes = try PrivateFile.read(path, limitBytes: limitBytes)
    if path.hasSuffix(".key") { return (try? NIOSSLPrivateKey(bytes: bytes, format: .pem)) != nil }
    return (try? NIOSSLCertificate.fromPEMBytes(bytes))?.isEmpty == false
  }

  /// Makes what is missing or damaged of authority and key, and a server's certificate.
  ///
  /// - Parameter names: its addresses and host names; nil: those of the present one.
  package static func make(in folder: GatewayFolder, names: [String]?) async throws(Failure) {
    try check(names: names ?? [])
    guard exists(folder.authorityKey) || !exists(folder.authority) else {
      throw Failure(
        .unfitEnvironment, "\(folder.authorityKey) is missing",
        remedy: "put it there, run notibot-gateway init --renew, and keep it elsewhere again")
    }
    if exists(folder.authority), try !isUsable(folder.authorityKey) {
      throw Failure(
        .unfitEnvironment, "\(folder.authorityKey) is damaged",
        remedy: "put a copy of it there; or delete ca.pem and ca.key, run notibot-gateway init --renew, and "
          + "give the new ca.pem to the senders")
    }
    if try !isUsable(folder.authority) { try await makeAuthority(in: folder) }
    if try !isUsable(folder.certificateKey) { try await makeKey(folder.certificateKey) }
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
    // Senders that have its former certificate continue to trust it.
    if try !isUsable(folder.authorityKey) { try await makeKey(folder.authorityKey) }
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
    case 127: throw openssl("is missing", remedy: "install openssl 3.0 or newer")
    case nil: throw openssl("\(arguments[0]) did not end", remedy: "try again")
    case .some(let code):
      let words = (try? await process.ended.get()) ?? ""
      let reason = words.split(separator: "\n").first.map { String($0.prefix(200)) } ?? "ended with \(code)"
      throw openssl(
        "\(arguments[0]) failed: \(reason)",
        remedy: "check the files that it names, and that 'openssl version' is 3.0 or newer")
    }
    try? pipe.fileHandleForWriting.close()
    let bytes = (try? pipe.fileHandleForReading.readToEnd()) ?? Data()
    try PrivateFile.write(String(decoding: bytes, as: UTF8.self), to: path)
  }

  private static func openssl(_ problem: String, remedy: String) -> Failure {
    Failure(.unfitEnvironment, "the program openssl \(problem)", remedy: remedy)
  }
}
#endif
