import ArgumentParser
import Conformance
import SerialLink

extension TestRun {
  /// The device and the connection under test, as far as known without a query.
  var identity: RunIdentity {
    var identity = RunIdentity(bench: RunIdentity.Bench(notibot: Notibot.configuration.version))
    guard case .port(let name, let options, _, _, _) = rig else { return identity }
    identity.connection.bitsPerSecond = name.address?.hasRate ?? true ? options.bitsPerSecond : nil
    if let port = PortList().info(for: name) {
      identity.connection.path = port.path
      identity.connection.board = port.usb.map { $0.adapter?.name ?? "\($0.id)" }
      identity.connection.driver = port.driver
    }
    return identity
  }

  /// The same, with the information that the device reports.
  func identity(of device: any Rig) async -> RunIdentity {
    var identity = identity
    identity.device = await RunIdentity.Device.of(device, seed: seed)
    return identity
  }
}
