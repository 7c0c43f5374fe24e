package import Conformance

extension SymmetricMutant {
  /// An emulator and a host that both have the fault.
  package func makeRig() -> EmulatorRig {
    EmulatorRig(
      wrapLine: { SymmetricLine($0, fault: self) }, wrapHostLine: { SymmetricLine($0, fault: self) })
  }
}
