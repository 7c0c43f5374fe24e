import FirmwareImages
import Foundation
import NIOCore
import SerialLink

/// The esptool that `flash` runs: a separate program, never a part of this one.
struct EsptoolProgram: Sendable {
  /// The version that the command installs; `tools/esptool_matrix/requirements.txt` tests it.
  static let pinned = "5.6.0"
  /// The oldest version whose output and options are known here.
  private static let oldest = [5, 6]

  let path: String

  /// Finds it: the option, else `NOTIBOT_ESPTOOL`, else that of PATH if it is recent enough, else
  /// the command's own environment, which is created the first time.
  ///
  /// - Parameter installs: whether it can be created.
  /// - Throws: `Failure` with 18 and the remedy.
  static func located(option: String?, installs: Bool) async throws -> EsptoolProgram {
    let environment = ProcessInfo.processInfo.environment
    if let path = option ?? environment["NOTIBOT_ESPTOOL"].flatMap({ $0.isEmpty ? nil : $0 }) {
      return try await checked(path)
    }
    var others = ""
    if let path = SearchPath.first(of: ["esptool"]) {
      do {
        return try await checked(path)
      } catch let failure as Failure {
        others = "; \(failure.message)"
      }
    }
    let folder = try dataFolder(environment) + "/esptool-\(pinned)"
    let program = EsptoolProgram(path: folder + "/bin/esptool")
    if access(folder + "/ready", F_OK) == 0 { return program }
    guard installs else {
      throw Failure(
        .unfitEnvironment, "esptool \(pinned) is neither in PATH nor in \(folder.printable)\(others)",
        remedy: "omit --no-install, or choose one with --esptool PATH or NOTIBOT_ESPTOOL")
    }
    try await install(in: folder)
    return program
  }

  /// What `doctor` says about it: the same that `flash` will use.
  static func finding() async throws -> Diagnosis.Finding {
    do {
      let program = try await located(option: nil, installs: false)
      return Diagnosis.Finding(.good, "program", "esptool is \(program.path)")
    } catch let failure as Failure {
      let isChosen = ProcessInfo.processInfo.environment["NOTIBOT_ESPTOOL"]?.isEmpty == false
      let text =
        isChosen ? failure.message : "no esptool 5.6 or later is in PATH: flash installs one for itself"
      return Diagnosis.Finding(.warning, "program", text, command: "pipx install esptool==\(pinned)")
    }
  }

  /// The XDG folder for data of this program.
  private static func dataFolder(_ environment: [String: String]) throws -> String {
    if let folder = UserFolder.data.path(environment: environment) { return folder }
    throw Failure(
      .unfitEnvironment, "there is no folder for esptool: neither XDG_DATA_HOME nor HOME is set",
      remedy: "choose an esptool with --esptool PATH or NOTIBOT_ESPTOOL")
  }

  private static func checked(_ path: String) async throws -> EsptoolProgram {
    let program = EsptoolProgram(path: path)
    let remedy = "choose esptool \(pinned) with --esptool PATH, or omit it to have it installed"
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, access(path, X_OK) == 0 else {
      throw Failure(
        .unfitEnvironment, "cannot run \(path.printable): it is not a program", remedy: remedy)
    }
    let run = try await EsptoolRun(program: program).run(["version"], connecting: .seconds(10))
    let number = (run.output.version ?? "").split(separator: ".").compactMap { Int($0) }
    guard run.exitCode == 0, number.count >= 2 else {
      let reason =
        run.wasSilent
        ? " (it printed nothing for 10 s)"
        : run.errors.isEmpty ? "" : " (\(EsptoolFailure.reason(in: run.errors).printable))"
      throw Failure(.unfitEnvironment, "\(path.printable) is not esptool 5\(reason)", remedy: remedy)
    }
    guard !number.lexicographicallyPrecedes(oldest) else {
      throw Failure(
        .unfitEnvironment, "\(path.printable) is esptool \(run.output.version ?? ""), which is too old",
        remedy: remedy)
    }
    return program
  }

  // MARK: Installation

  /// Creates an environment with the pinned version. A file marks it as complete, so that an
  /// interrupted installation is repeated.
  private static func install(in folder: String) async throws {
    Output.note("esptool \(pinned) is installed once, in \(folder.printable), which takes half a minute")
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    } catch {
      throw failure("cannot create \(folder.printable)", "choose another folder with XDG_DATA_HOME")
    }
    let lock = open(folder + "/lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard lock >= 0 else {
      throw failure("cannot write \(folder.printable)", "choose another folder with XDG_DATA_HOME")
    }
    defer { close(lock) }
    guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      throw failure("another process is installing esptool", "try again when it is done")
    }
    if access(folder + "/ready", F_OK) == 0 { return }
    Output.note("1 of 2: python3 -m venv")
    try await step(
      ["python3", "-m", "venv", folder], remedy: "install python3 and python3-venv, and check the network")
    Output.note("2 of 2: pip install esptool==\(pinned)")
    try await step(
      [
        folder + "/bin/python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
        "esptool==\(pinned)",
      ],
      remedy: "check the network, or choose an esptool with --esptool PATH")
    guard FileManager.default.createFile(atPath: folder + "/ready", contents: nil) else {
      throw failure("cannot write \(folder.printable)", "choose another folder with XDG_DATA_HOME")
    }
  }

  private static func step(_ words: [String], remedy: String) async throws {
    let process = try await TiedProcess.start("/usr/bin/env", arguments: words)
    let code = await process.exitCode(within: .seconds(600))
    try Task.checkCancellation()
    guard code != 0 else { return }
    let errors = (try? await process.ended.get()) ?? ""
    throw failure("cannot install esptool: \(EsptoolFailure.reason(in: errors).printable)", remedy)
  }

  private static func failure(_ text: String, _ remedy: String) -> Failure {
    Failure(.unfitEnvironment, text, remedy: remedy)
  }
}
