import Foundation
import NIOCore
import NIOPosix
import SerialLink

/// Resets of a board below its tty.
enum BoardUSB {
  /// Resets the USB port of the board. Returns the device's USB id and the names that it reports.
  @discardableResult
  static func reset(_ port: PortAddress, _ info: PortInfo?) async throws -> String? {
    let place = try place(of: port, info)
    let name = port.description
    let outcome = try await NIOSingletons.posixBlockingThreadPool.runIfActive {
      () -> Result<String?, PortError> in
      do throws(PortError) {
        let device = USBDevices.description(at: place)
        _ = try USBDevices.reset(at: place, port: name)
        return .success(
          device.map {
            [$0.id.description, $0.manufacturer, $0.product].compactMap(\.self).joined(separator: " ")
          })
      } catch {
        return .failure(error)
      }
    }
    return try outcome.get()
  }

  /// Switches the power of the board off and on, by labgrid if it has the place, and returns its
  /// port.
  static func cyclePower(_ port: PortAddress, _ info: PortInfo?) async throws -> PortAddress {
    if let held = LabgridPlace.held { return try await held.cyclePower() }
    let place = try place(of: port, info)
    do {
      // The power must not stay off.
      return try await Interruption.finishing(within: PortPower.goingLimit) {
        try await PortPower.cycle(
          location: place.description, interface: info?.usb?.interface,
          searchPath: ProcessInfo.processInfo.environment["PATH"] ?? "",
          on: MultiThreadedEventLoopGroup.singleton.next())
      }.address
    } catch let failure as Failure {
      throw Failure(
        failure.kind, "cannot switch the power of \(port.description.printable): \(failure.message)",
        remedy: failure.remedy)
    }
  }

  private static func place(of port: PortAddress, _ info: PortInfo?) throws -> USBPlace {
    guard let location = info?.usb?.location, let place = USBPlace(location: location) else {
      throw Failure(
        .usage, "\(port.description.printable) is not a USB port of this computer",
        remedy: "use a port that 'notibot devices' lists with a location (AT)")
    }
    return place
  }
}
