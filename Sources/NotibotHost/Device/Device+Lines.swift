package import SerialLink

extension Device {
  /// Performs an operation on the serial line of the device's port, and returns when it is done.
  /// Throws `NotibotError`.
  package func perform(_ command: LineCommand) async throws {
    guard let channel else {
      throw NotibotError(PortError(.deviceGone, port: port, operation: "drive"))
    }
    do throws(PortError) {
      try await SerialChannel.perform(command, on: channel)
    } catch {
      throw NotibotError(error)
    }
  }
}
