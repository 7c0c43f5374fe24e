import NotibotHost
import SerialLink

/// Identity and state of the device at a port.
enum BoardGreeting {
  /// Restarts of a board during the query before it counts as not answering.
  private static let restartsLimit = 5

  /// Opens and closes a session; `nil` if no Notibot answers within `limit`. A board that restarts
  /// meanwhile, for example after a reset, is queried again.
  /// - Throws: `Failure` for an error of the port.
  static func ask(
    _ name: PortName, bitsPerSecond: UInt32, within limit: Duration
  ) async throws -> ResetRun.Greeting? {
    do {
      return try await answer(name, bitsPerSecond: bitsPerSecond, within: limit)
    } catch let error as NotibotError {
      switch error.code {
      case .deviceRestarted, .noAnswer, .incompatible: return nil
      case .usage, .noBoard, .portBusy, .noPermission, .linkLost, .refused, .environment, .queueFull:
        throw Failure(error)
      }
    }
  }

  /// As `ask`; throws a `NotibotError` with the reason if no Notibot answers.
  static func answer(
    _ name: PortName, bitsPerSecond: UInt32, within limit: Duration
  ) async throws -> ResetRun.Greeting {
    var options = DeviceOptions()
    options.bitsPerSecond = bitsPerSecond
    options.reconnection = .never
    let end = ContinuousClock.now + limit
    var restarts = 0
    while true {
      options.connectTimeout = max(.milliseconds(1), end - .now)
      do {
        return try await withDevice(at: name, options: options) { device in
          let info = await device.info
          return ResetRun.Greeting(
            address: device.address, bootID: info.bootID, resetReason: info.resetReason,
            uptimeMs: info.uptimeMs, info: info)
        }
      } catch let error as NotibotError
        where error.code == .deviceRestarted && restarts < restartsLimit && .now < end
      {
        restarts += 1
      }
    }
  }
}
