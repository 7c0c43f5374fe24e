import Glibc

/// The few file operations for port discovery and locking, without Foundation, to keep start-up
/// fast.
package enum FileSystem {
  /// A sysfs attribute or a lock file is at most a page; more is not read.
  package static let smallFileLimitBytes = 65_536

  /// The start of the file at `path`, at most `smallFileLimitBytes`; `nil` when it cannot be read.
  package static func contents(of path: String, limitBytes: Int = smallFileLimitBytes) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { return nil }
    let owned = OwnedDescriptor(owning: descriptor)
    var bytes: [UInt8] = []
    while bytes.count < limitBytes {
      let chunk = [UInt8](unsafeUninitializedCapacity: min(4096, limitBytes - bytes.count)) { buffer, count in
        count = max(0, read(owned.raw, buffer.baseAddress, buffer.count))
      }
      if chunk.isEmpty { break }
      bytes += chunk
    }
    return bytes
  }

  /// One line of text, without surrounding white space; `nil` when the file cannot be read.
  static func line(at path: String) -> String? {
    guard let bytes = contents(of: path, limitBytes: 4096) else { return nil }
    let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != 0 }
    return String(decoding: line, as: UTF8.self).trimmingSpaces()
  }

  /// Names in the directory at `path`, without `.` and `..`, sorted; empty when it cannot be read.
  static func names(in path: String) -> [String] {
    guard let directory = opendir(path) else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
        tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// The target of the symbolic link at `path`; `nil` if it is not a link.
  static func target(ofLink path: String) -> String? {
    var length = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
      length = buffer.withMemoryRebound(to: CChar.self) { readlink(path, $0.baseAddress!, $0.count) }
      count = max(0, length)
    }
    return length < 0 ? nil : String(decoding: bytes, as: UTF8.self)
  }

  /// The path with every symbolic link resolved; `nil` if it does not exist (see `errno`).
  static func resolved(_ path: String) -> String? {
    guard let pointer = realpath(path, nil) else { return nil }
    defer { free(pointer) }
    return String(cString: pointer)
  }

  /// Where a file that is written to `path` gets: every symbolic link resolved, also if there is no
  /// file yet.
  package static func destination(of path: String) -> String {
    var path = path
    // The kernel follows as many links. Source: path_resolution(7).
    for _ in 0..<40 {
      if let resolved = resolved(path) { return resolved }
      guard let target = target(ofLink: path) else { break }
      path = target.hasPrefix("/") ? target : folder(of: path) + target
    }
    let name = path.lastIndex(of: "/").map { path[path.index(after: $0)...] } ?? path[...]
    return resolved(folder(of: path)).map { "\($0)/\(name)" } ?? path
  }

  /// With its slash.
  private static func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[...$0]) } ?? "./"
  }

  /// Whether `path` is a file that this user can execute.
  static func isExecutable(_ path: String) -> Bool {
    guard let status = status(of: path) else { return false }
    return status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
  }

  /// Replaces the content of an existing file with `text`. Returns whether all of it was written.
  static func overwrite(_ path: String, with text: String) -> Bool {
    let descriptor = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY)
    guard descriptor >= 0 else { return false }
    let owned = OwnedDescriptor(owning: descriptor)
    let bytes = Array(text.utf8)
    return write(owned.raw, bytes, bytes.count) == bytes.count
  }

  /// The status of `path`, links followed, or `nil` (see `errno`).
  static func status(of path: String) -> stat? {
    var status = stat()
    return stat(path, &status) == 0 ? status : nil
  }

  /// The status of `path` itself, links not followed, or `nil` (see `errno`).
  static func linkStatus(of path: String) -> stat? {
    var status = stat()
    return lstat(path, &status) == 0 ? status : nil
  }
}

extension stat {
  var isCharacterDevice: Bool { st_mode & S_IFMT == S_IFCHR }
  var isSymbolicLink: Bool { st_mode & S_IFMT == S_IFLNK }
  var isDirectory: Bool { st_mode & S_IFMT == S_IFDIR }

  /// A Unix98 PTY slave: majors 136 to 143. Source: kernel Documentation/admin-guide/devices.txt.
  var isPseudoTerminalSlave: Bool { isCharacterDevice && (136...143).contains(DeviceNumber(st_rdev).major) }
}

/// The two halves of a `dev_t`, as glibc packs them. Source: <bits/sysmacros.h>.
struct DeviceNumber: Equatable {
  let major: UInt64
  let minor: UInt64

  init(_ packed: dev_t) {
    let packed = UInt64(packed)
    major = packed >> 8 & 0xFFF | packed >> 32 & 0xFFFF_F000
    minor = packed & 0xFF | packed >> 12 & 0xFFFF_FF00
  }
}

extension String {
  /// Without leading and trailing blanks, tabs and line ends.
  func trimmingSpaces() -> String {
    let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0.isNewline }
    var rest = self[...]
    while let first = rest.first, isSpace(first) { rest = rest.dropFirst() }
    while let last = rest.last, isSpace(last) { rest = rest.dropLast() }
    return String(rest)
  }
}

/// The system's text for `code`, such as "Permission denied".
func systemText(_ code: Int32) -> String {
  var buffer = [CChar](repeating: 0, count: 128)
  guard strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
  return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
