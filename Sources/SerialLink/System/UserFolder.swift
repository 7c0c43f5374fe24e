import Glibc

/// A folder of `notibot` for its user's files. Source: XDG Base Directory Specification.
package enum UserFolder {
  case configuration
  case data
  case cache

  /// `nil` if neither its variable nor HOME has an absolute path. For root, a folder of another
  /// user is not one of its own: with `sudo -E`, files of root would lock that user out.
  package func path(environment: [String: String], user: UInt32 = geteuid()) -> String? {
    let (variable, fallback) =
      switch self {
      case .configuration: ("XDG_CONFIG_HOME", ".config")
      case .data: ("XDG_DATA_HOME", ".local/share")
      case .cache: ("XDG_CACHE_HOME", ".cache")
      }
    func absolute(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
    let found = absolute(variable) ?? absolute("HOME").map { "\($0)/\(fallback)" }
    guard let found, Self.isForeign(found, to: user) else { return found.map { "\($0)/notibot" } }
    return getpwuid(0).map { "\(String(cString: $0.pointee.pw_dir))/\(fallback)/notibot" }
  }

  /// Whether a folder, or the nearest one above that exists, is another user's, and `user` is root.
  static func isForeign(_ path: String, to user: UInt32) -> Bool {
    guard user == 0 else { return false }
    var path = path[...]
    while let slash = path.lastIndex(of: "/"), slash != path.startIndex {
      if let status = FileSystem.status(of: String(path)) { return status.st_uid != 0 }
      path = path[..<slash]
    }
    return false
  }
}
