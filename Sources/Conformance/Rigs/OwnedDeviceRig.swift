/// A rig with a device of its own behind a port: the cases run as on any port, and the device ends with the rig.
package protocol OwnedDeviceRig: Rig {
  /// What reaches the device.
  var port: PortRig { get }

  /// Ends the device and removes what it left. The port is closed by then.
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
