import Foundation
import Glibc

/// Other programs: in the folder of this one, or in those of the PATH variable.
enum SearchPath {
  /// The path of a program in this one's folder, if it can be executed.
  static func neighbour(_ name: String) -> String? {
    guard let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
      return nil
    }
    let path = "\(own.prefix(upTo: own.lastIndex(of: "/") ?? own.startIndex))/\(name)"
    return access(path, X_OK) == 0 ? path : nil
  }

  /// The path of the first of these programs that can be executed; of one name, the first folder's.
  static func first(of names: [String]) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    let paths = names.flatMap { name in folders.map { "\($0)/\(name)" } }
    return paths.first { access($0, X_OK) == 0 }
  }
}
