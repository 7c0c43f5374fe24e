/// A fault that a host and a device have alike, as when one hand has written both: they agree with each other, and no
/// test between the two can tell. The suite must, on either side.
package struct SymmetricMutant: Sendable, CustomStringConvertible {
  package let name: String
  /// What is wrong, as a sentence about both.
  package let what: String
  /// The rules that both break; the cases that tell must name one of them.
  package let rules: [String]
  /// The case that must tell of the device.
  package let deviceCase: String
  /// The case that must tell of the host.
  package let hostCase: String
  package let codec: SymmetricCodec

  /// - Parameters:
  ///   - device: the case that must tell of the device, whose rules have one of `rules` among them.
  ///   - host: the same of the host.
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

  /// Changes nothing: what the suite tells of it is told of the line in between, not of a fault.
  package static let none = SymmetricMutant(
    "none", "nothing is wrong", device: "", host: "", SymmetricCodec(both: { _ in }))

  package static let all: [SymmetricMutant] = [none] + framing + link + attributes + identities

  /// An emulator and a host that both have the fault.
  package func makeRig() -> EmulatorRig {
    EmulatorRig(
      wrapLine: { SymmetricLine($0, fault: self) }, wrapHostLine: { SymmetricLine($0, fault: self) })
  }
}
