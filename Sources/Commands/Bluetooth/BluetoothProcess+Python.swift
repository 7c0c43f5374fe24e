import Foundation
import SerialLink

/// The Python that has the module.
extension BluetoothProcess {
  /// What `doctor` reports about it: the same that a command will use.
  static func finding() async throws -> Diagnosis.Finding {
    do {
      // An adapter of the kernel needs more of it than another one.
      let (process, ready) = try await start(["check"], on: "hciN")
      await process.stop()
      return Diagnosis.Finding(
        .good, "Bluetooth", "\(ready.name ?? "python3") can use the adapters of the kernel")
    } catch let failure as Failure {
      return Diagnosis.Finding(.warning, "Bluetooth", failure.message, command: failure.remedy)
    }
  }

  /// Of a program that looks for two modules.
  private static let startLimitSeconds = 60

  private static let check = """
    import importlib.util as u, sys
    sys.exit(0 if u.find_spec('notibot.ble') and u.find_spec('bumble') else 3)
    """

  /// The Python that has the module: `NOTIBOT_PYTHON`, else that of the environment of this
  /// program, else that of PATH.
  static func located() async throws -> String {
    let chosen = ProcessInfo.processInfo.environment["NOTIBOT_PYTHON"].flatMap { $0.isEmpty ? nil : $0 }
    let usual = [SearchPath.neighbour("python3"), SearchPath.first(of: ["python3"])].compactMap(\.self)
    let candidates = chosen.map { [$0] } ?? usual
    for python in candidates {
      let trial = try await TiedProcess.start("/usr/bin/env", arguments: [python, "-c", check])
      let code = await trial.exitCode(within: .seconds(startLimitSeconds))
      try Task.checkCancellation()
      guard let code else {
        throw Failure(
          .unfitEnvironment,
          "cannot use Bluetooth: \(python) did not start in \(startLimitSeconds) s, or was killed",
          remedy: "try again when this computer is less busy")
      }
      if code == 0 { return python }
    }
    guard let python = candidates.last else {
      throw Failure(
        .unfitEnvironment, "cannot use Bluetooth: python3 is missing",
        remedy: "python3 -m pip install 'notibot-rig[ble]'  # with Python 3.11 or later")
    }
    throw Failure(
      .unfitEnvironment, "cannot use Bluetooth: \(python) has no notibot-rig[ble]",
      remedy: "\(python) -m pip install 'notibot-rig[ble]'  # 3.11 or later; or set NOTIBOT_PYTHON")
  }
}
