import ArgumentParser
import Conformance
import SerialLink

extension TestRun {
  /// What is tested, and with what, as far as it is known without asking the device.
  var identity: RunIdentity {
    var identity = RunIdentity(bench: RunIdentity.Bench(notibot: Notibot.configuration.version))
    guard case .port(let specifier, let options, _, _, _) = rig else { return identity }
    identity.connection.bitsPerSecond = specifier.hasRate ? options.bitsPerSecond : nil
    if let port = PortList().info(for: specifier) {
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

extension PortName {
  /// Whether a rate is set at it.
  fileprivate var hasRate: Bool {
    if case .socket = self { false } else { true }
  }
}
