import ArgumentParser
import Conformance
import SerialLink

extension TestRun {
  /// What is tested, and with what, as far as it is known without asking the device.
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

  /// The same with what the device says of itself.
  func identity(of device: any Rig) async -> RunIdentity {
    var identity = identity
    identity.device = await RunIdentity.Device.of(device, seed: seed)
    return identity
  }
}
