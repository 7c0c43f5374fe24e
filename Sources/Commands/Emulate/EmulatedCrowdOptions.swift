import ArgumentParser
import DeviceEmulator
import NotibotProtocol
import SerialLink

/// Several emulators in one process. What differs between them ends in their numbers.
struct EmulatedCrowdOptions: ParsableArguments {
  static let countRange = 1...10_000
  /// Descriptors of a device, at most: its terminal has three, a fourth while it is made.
  private static let descriptorsPerDevice = 4

  @Option(
    help: ArgumentHelp(
      "Devices to emulate, 1-10000: the links end in -1, -2, ..., the TCP ports follow each other.",
      valueName: "number"))
  var count = 1

  func validate() throws {
    guard Self.countRange ~= count else { throw ValidationError("--count must be 1 to 10000") }
  }

  /// Makes room for the descriptors of `count` devices. Throws `Failure` if there is none.
  static func reserve(for count: Int) throws {
    guard let (reason, remedy) = ProcessLimits.problem(opening: count * descriptorsPerDevice) else { return }
    throw Failure(.unfitEnvironment, "\(count) devices do not fit: \(reason)", remedy: remedy)
  }

  /// The profiles of the devices; their ids follow each other.
  func profiles(_ first: DeviceProfile) -> [DeviceProfile] {
    (0..<count).map { index in
      var profile = first
      profile.deviceID = profile.deviceID?.advanced(by: index)
      return profile
    }
  }

  /// The link of a device, by its number from 0.
  func link(_ base: String, _ index: Int) -> String { count == 1 ? base : "\(base)-\(index + 1)" }

  /// The TCP ports of the devices. Throws `ValidationError` if there are not so many.
  func addresses(from first: NetworkAddress) throws -> [NetworkAddress] {
    guard first.port == 0 || first.port + count - 1 <= Int(UInt16.max) else {
      throw ValidationError("\(count) devices need the ports \(first.port) to \(first.port + count - 1)")
    }
    return (0..<count).map { index in
      var address = first
      if first.port > 0 { address.port += index }
      return address
    }
  }
}
