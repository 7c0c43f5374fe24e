/// A folder of `notibot` for its user's files. Source: XDG Base Directory Specification.
package enum UserFolder {
  case configuration
  case data
  case cache

  /// `nil` if neither its variable nor HOME has an absolute path.
  package func path(environment: [String: String]) -> String? {
    let (variable, fallback) =
      switch self {
      case .configuration: ("XDG_CONFIG_HOME", ".config")
      case .data: ("XDG_DATA_HOME", ".local/share")
      case .cache: ("XDG_CACHE_HOME", ".cache")
      }
    func absolute(_ name: String) -> String? { environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil } }
    return (absolute(variable) ?? absolute("HOME").map { "\($0)/\(fallback)" }).map { "\($0)/notibot" }
  }
}
