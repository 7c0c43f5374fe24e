import Foundation
import Glibc

/// Running as a user without any permissions.
enum Nobody {
  private static let identity = ["--reuid=65534", "--regid=65534", "--clear-groups"]

  /// Whether this process can become that user, that user can run the program, and lock files of
  /// other users persist.
  static let canLeaveLocks: Bool = {
    var status = stat()
    guard geteuid() == 0, stat("/var/lock", &status) == 0, status.st_mode & 0o1777 == 0o1777 else {
      return false
    }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Privilege.setpriv)
    process.arguments = identity + [Program.notibot, "--version"]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()

  static func run(_ arguments: [String]) async throws -> Program.Ending {
    try await Program(identity + [Program.notibot] + arguments, program: Privilege.setpriv).ending()
  }
}

/// Running with a folder on a read-only file system, in a mount namespace of its own.
enum ReadOnlyFolder {
  private static let unshare = "/usr/bin/unshare"

  static let canBeMounted: Bool = {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: unshare)
    process.arguments = ["--map-root-user", "--mount", "mount", "-t", "tmpfs", "-o", "ro", "none", "/mnt"]
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()

  /// Runs `notibot` where `/mnt` is that folder.
  static func run(_ arguments: [String]) async throws -> Program.Ending {
    let mount = #"mount -t tmpfs -o ro none /mnt && exec "$@""#
    return try await Program(
      ["--map-root-user", "--mount", "sh", "-c", mount, "sh", Program.notibot] + arguments, program: unshare
    ).ending()
  }
}

/// Running without root's permission to open everything.
enum Privilege {
  static let setpriv = "/usr/bin/setpriv"
  /// The command prefix.
  static let dropping = ["--bounding-set", "-dac_override,-dac_read_search"]

  /// Whether file modes can be made effective for a program.
  static let canBeGivenUp: Bool = {
    if geteuid() != 0 { return true }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: setpriv)
    process.arguments = dropping + ["/bin/true"]
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()

  /// Runs `notibot` with effective file modes.
  static func run(_ arguments: [String]) async throws -> Program.Ending {
    if geteuid() != 0 { return try await Program(arguments).ending() }
    return try await Program(dropping + [Program.notibot] + arguments, program: setpriv).ending()
  }
}

/// The boards connected to this computer.
enum Boards {
  /// Whether 'auto' finds no board.
  static let areAbsent: Bool = {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Program.notibot)
    process.arguments = ["devices", "--json"]
    let output = Pipe()
    process.standardOutput = output
    guard (try? process.run()) != nil else { return false }
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard let ports = try? JSON(parsing: text)["ports"] else { return false }
    return !ports.elements.contains { $0["isKnownBoard"] == true }
  }()
}

extension String {
  /// Whether this contains terminal controls: C0 controls except newline and tab, DEL, C1 controls,
  /// and changes of text direction.
  var hasControls: Bool {
    unicodeScalars.contains { scalar in
      switch scalar.value {
      case 0x09, 0x0A: false
      case 0..<0x20, 0x7F...0x9F, 0x202A...0x202E, 0x2066...0x2069: true
      default: false
      }
    }
  }
}
