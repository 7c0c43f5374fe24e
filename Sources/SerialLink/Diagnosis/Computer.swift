import CSerialShim
import Glibc

/// All inputs of a diagnosis about a computer. Everything is a parameter, so that tests can
/// assemble any computer from files.
package struct Computer: Sendable {
  /// The user's permissions for a device node.
  package struct Node: Hashable, Sendable {
    /// Whether this process can read and write it, for any reason.
    package var isAccessible: Bool
    package var group: UInt32
    /// Whether the group can read and write it.
    package var isOpenToGroup: Bool

    package init(isAccessible: Bool, group: UInt32, isOpenToGroup: Bool) {
      self.isAccessible = isAccessible
      self.group = group
      self.isOpenToGroup = isOpenToGroup
    }
  }

  /// The user of this process.
  package struct User: Hashable, Sendable {
    package var id: UInt32
    /// The name in the group database.
    package var name: String
    /// The groups that this process has, the primary one among them: those of the login, not of the
    /// database.
    package var groups: Set<UInt32>

    package init(id: UInt32, name: String, groups: Set<UInt32>) {
      self.id = id
      self.name = name
      self.groups = groups
    }
  }

  package var sysfsRoot = "/sys"
  package var deviceRoot = "/dev"
  package var procRoot = "/proc"
  package var configurationRoot = "/etc"
  package var runtimeRoot = "/run"
  /// Where packages install udev rules.
  package var ruleFolders = ["/usr/lib/udev/rules.d", "/lib/udev/rules.d"]
  package var lockDirectory = SerialOptions.standardLockDirectory
  package var environment: [String: String]
  package var user: User
  /// Reads the properties of a port, such as `ttyUSB0`, from udev's database.
  package var udevProperties: @Sendable (String) -> [String: String] = UdevDatabase.properties
  /// The permissions at a path; `nil` if it does not exist.
  package var node: @Sendable (String) -> Node? = Computer.node
  /// The processes that hold these ports.
  package var holders: @Sendable ([String]) -> [String: PortHolder]
  /// Whether a pseudo-terminal can be created.
  package var makesTerminals: @Sendable () -> Bool = Computer.makesTerminal

  /// The computer that this program runs on.
  package init(environment: [String: String], user: User = .current()) {
    self.environment = environment
    self.user = user
    holders = { PortHolder.holders(of: $0) }
  }

  private static func node(at path: String) -> Node? {
    guard let status = FileSystem.status(of: path) else { return nil }
    return Node(
      isAccessible: access(path, R_OK | W_OK) == 0, group: status.st_gid,
      isOpenToGroup: status.st_mode & 0o060 == 0o060)
  }

  private static func makesTerminal() -> Bool {
    let master = serial_shim_open_master()
    guard master >= 0 else { return false }
    let owned = OwnedDescriptor(owning: master)
    var path = [CChar](repeating: 0, count: 128)
    return serial_shim_slave_path(owned.raw, &path, path.count) == 0 && access(path, R_OK | W_OK) == 0
  }

  // MARK: Shared by several checks

  var ports: PortList { PortList(sysfsRoot: sysfsRoot, deviceRoot: deviceRoot) }

  /// Whether udevd runs: rules are applied and its database is available.
  var hasUdev: Bool { FileSystem.status(of: "\(runtimeRoot)/udev/control") != nil }

  /// The groups of the database: number, name, members. Source: group(5).
  func groups() -> [(id: UInt32, name: String, members: [String])] {
    guard let bytes = FileSystem.contents(of: "\(configurationRoot)/group", limitBytes: 1 << 20) else {
      return []
    }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { line in
      let fields = line.split(separator: ":", omittingEmptySubsequences: false)
      guard fields.count >= 4, let id = gid_t(fields[2]) else { return nil }
      return (id, String(fields[0]), fields[3].split(separator: ",").map(String.init))
    }
  }

  /// The process of this name, as the kernel cuts it: 15 characters. Source: proc_pid_comm(5).
  func process(named name: String) -> Int32? {
    FileSystem.names(in: procRoot).lazy.compactMap { Int32($0) }.first { pid in
      FileSystem.line(at: "\(procRoot)/\(pid)/comm") == String(name.prefix(15))
    }
  }

  /// The first of these programs in PATH.
  func program(_ names: [String]) -> String? {
    let folders = environment["PATH", default: ""].split(separator: ":")
    return names.lazy.flatMap { name in folders.map { "\($0)/\(name)" } }.first { access($0, X_OK) == 0 }
  }

  /// Each folder of rules, the administrator's first.
  var allRuleFolders: [String] {
    ["\(configurationRoot)/\(UdevRules.folder)", "\(runtimeRoot)/\(UdevRules.folder)"] + ruleFolders
  }
}

extension Computer.User {
  /// The user that runs this process.
  package static func current() -> Computer.User {
    var numbers = [gid_t](repeating: 0, count: 65_536)
    let count = getgroups(Int32(numbers.count), &numbers)
    let groups = Set(numbers.prefix(Int(max(0, count)))).union([getgid(), getegid()])
    return Computer.User(id: geteuid(), name: name(of: geteuid()) ?? "$USER", groups: groups)
  }

  private static func name(of user: uid_t) -> String? {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 16_384)
    guard getpwuid_r(user, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
    return entry.pw_name.map { String(cString: $0) }
  }
}
