#if Gateway
import Crypto
package import GatewayRules

/// Keys of senders and their signatures.
package enum ProviderKey {
  /// The public key in a PEM file: a sender's private key (`.p8`), of which nothing else is kept,
  /// or the public key itself, also as it stands in a file of environment variables.
  package static func publicKey(inPEM text: String) -> [UInt8]? {
    guard let pem = PEMText.normalized(text) else { return nil }
    if let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) {
      return Array(key.publicKey.x963Representation)
    }
    return (try? P256.Signing.PublicKey(pemRepresentation: pem)).map { Array($0.x963Representation) }
  }

  /// Whether the signature of a provider's token is valid: ES256 and nothing else.
  package static func isValid(_ check: TokenVerifier.Check) -> Bool {
    let bytes = check.token.signature
    guard let key = try? P256.Signing.PublicKey(x963Representation: check.key.publicKey),
      let signature = try? bytes.count == 64
        ? P256.Signing.ECDSASignature(rawRepresentation: bytes)
        : P256.Signing.ECDSASignature(derRepresentation: bytes)
    else { return false }
    return key.isValidSignature(signature, for: check.token.signedBytes)
  }
}
#endif
