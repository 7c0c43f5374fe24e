import Conformance
/// A fault that a host and a device have in common, as if one author had written both: they agree
/// with each other, and no test between the two can detect it. The suite must, on either side.
package struct SymmetricMutant: Sendable, CustomStringConvertible {
  package let name: String
  /// The fault, as a sentence about both.
  package let what: String
  /// The rules that both break; the cases that detect it must name one of them.
  package let rules: [String]
  /// The case that must detect it on the device.
  package let deviceCase: String
  /// The case that must detect it on the host.
  package let hostCase: String
  package let codec: SymmetricCodec

  /// - Parameters:
  ///   - device: the case that must detect it on the device; one of its rules is in `rules`.
  ///   - host: the same for the host.
  init(
    _ name: String, _ what: String, _ rules: String..., device: String, host: String, _ codec: SymmetricCodec
  ) {
    self.name = name
    self.what = what
    self.rules = rules
    self.deviceCase = device
    self.hostCase = host
    self.codec = codec
  }

  package var description: String { name }

  /// Changes nothing: a finding of the suite with it is caused by the line adapter, not by a fault.
  package static let none = SymmetricMutant(
    "none", "nothing is wrong", device: "", host: "", SymmetricCodec(both: { _ in }))

  package static let all: [SymmetricMutant] = [none] + framing + link + attributes + identities
}
