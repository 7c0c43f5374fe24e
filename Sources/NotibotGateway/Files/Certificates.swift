#if Gateway
import Foundation
import SerialLink

/// The certificates of a gateway, made by the program `openssl`: an authority that senders trust,
/// and the server's certificate.
package enum Certificates {
  /// Days that a server's certificate is valid.
  package static let leafDays = 90
  /// Days that the authority is valid.
  package static let authorityDays = 3650

  /// Makes the authority if it is missing, and a certificate for `names`: addresses and host names.
  package static func make(in folder: GatewayFolder, names: [String]) throws(GatewayFailure) {
    let alternatives = names.map { ($0.contains(":") || isIPv4($0) ? "IP:" : "DNS:") + $0 }
    guard names.allSatisfy({ !$0.isEmpty && $0.allSatisfy(isNameCharacter) }) else {
      throw GatewayFailure(.usage, "a name of the certificate is neither an address nor a host name")
    }
    // All files are created closed to others.
    let mask = umask(0o077)
    defer { umask(mask) }
    if !FileManager.default.fileExists(atPath: folder.authority) {
      try openssl([
        "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", folder.authorityKey,
      ])
      try openssl([
        "req", "-x509", "-new", "-key", folder.authorityKey, "-sha256", "-days", "\(authorityDays)", "-subj",
        "/CN=Notibot gateway authority", "-addext", "basicConstraints=critical,CA:TRUE,pathlen:0", "-addext",
        "keyUsage=critical,keyCertSign,cRLSign", "-out", folder.authority,
      ])
    }
    let (request, extensions) = (folder.file("leaf.csr"), folder.file("leaf.ext"))
    defer {
      unlink(request)
      unlink(extensions)
    }
    try PrivateFile.write(
      """
      basicConstraints=critical,CA:FALSE
      keyUsage=critical,digitalSignature
      extendedKeyUsage=serverAuth
      subjectAltName=\(alternatives.joined(separator: ","))

      """, to: extensions)
    try openssl([
      "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", folder.certificateKey,
    ])
    try openssl([
      "req", "-new", "-key", folder.certificateKey, "-subj", "/CN=Notibot gateway", "-out", request,
    ])
    try openssl([
      "x509", "-req", "-in", request, "-CA", folder.authority, "-CAkey", folder.authorityKey,
      "-CAcreateserial",
      "-sha256", "-days", "\(leafDays)", "-extfile", extensions, "-out", folder.certificate,
    ])
  }

  private static func isIPv4(_ name: String) -> Bool {
    name.split(separator: ".", omittingEmptySubsequences: false).count == 4
      && name.split(separator: ".").allSatisfy { UInt8($0) != nil }
  }

  /// Nothing that could end a line or a field of openssl's configuration.
  private static func isNameCharacter(_ character: Character) -> Bool {
    character.isASCII && (character.isLetter || character.isNumber || ".-:*".contains(character))
  }

  private static func openssl(_ arguments: [String]) throws(GatewayFailure) {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["openssl"] + arguments
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    do {
      try process.run()
    } catch {
      throw GatewayFailure(.unfitEnvironment, "cannot run openssl", remedy: "install the package openssl")
    }
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw GatewayFailure(
        .unfitEnvironment, "openssl \(arguments.first ?? "") failed with \(process.terminationStatus)",
        remedy: "check that openssl 1.1.1 or newer is installed and the folder is writable")
    }
  }
}
#endif
