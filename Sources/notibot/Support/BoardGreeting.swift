import NotibotHost
import SerialLink

/// Who is at a port.
enum BoardGreeting {
  /// How often a board may restart while it is asked, before it counts as one that does not answer.
  private static let restartsLimit = 5

  /// Opens a session for a moment; `nil` when nothing answers as a Notibot within `limit`. A board that restarts meanwhile, as one
  /// that was just reset may, is asked again.
  /// - Throws: `CommandFailure` for what is wrong with the port.
  static func ask(
    _ name: PortName, bitsPerSecond: UInt32, within limit: Duration
  ) async throws -> ResetRun.Greeting? {
    var options = DeviceOptions()
    options.bitsPerSecond = bitsPerSecond
    options.reconnection = .never
    let end = ContinuousClock.now + limit
    for _ in 0...restartsLimit {
      let left = end - .now
      guard left > .zero else { return nil }
      options.connectTimeout = left
      do {
        return try await withDevice(at: name, options: options) { device in
          let info = await device.info
          return ResetRun.Greeting(
            address: device.address, bootID: info.bootID, resetReason: info.resetReason,
            uptimeMs: info.uptimeMs)
        }
      } catch let error as NotibotError {
        switch error.code {
        case .deviceRestarted: continue
        case .noAnswer, .incompatible: return nil
        case .usage, .noBoard, .portBusy, .noPermission, .linkLost, .refused, .environment, .queueFull:
          throw CommandFailure(error)
        }
      }
    }
    return nil
  }
}
