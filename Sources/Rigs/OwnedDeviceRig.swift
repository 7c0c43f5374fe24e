package import Conformance

/// A rig that owns the device behind its port: the cases run as on any port, and the device ends
/// with the rig.
package protocol OwnedDeviceRig: Rig {
  /// The rig of the device's port.
  var port: PortRig { get }

  /// Ends the device and removes its files. The port is closed by then.
  func endDevice() async
}

extension OwnedDeviceRig {
  package var offers: Set<Need> { port.offers }

  package func makeBench(for testCase: Case, seed: UInt64) async throws -> Bench {
    try await port.makeBench(for: testCase, seed: seed)
  }

  package func finish(_ bench: Bench) async { await port.finish(bench) }

  package func close() async {
    await port.close()
    await endDevice()
  }
}
