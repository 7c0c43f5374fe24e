import Foundation
import Glibc

/// The folders of the PATH variable.
enum SearchPath {
  /// The path of the first of these programs that can be executed; of one name, the first folder's.
  static func first(of names: [String]) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    let paths = names.flatMap { name in folders.map { "\($0)/\(name)" } }
    return paths.first { access($0, X_OK) == 0 }
  }
}
