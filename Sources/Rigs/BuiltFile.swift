import Foundation

/// Files of this repository and of its builds.
enum BuiltFile {
  /// The first that can be read: `name` in `folder` below the current directory, or in the folder
  /// `levels` above this program, which is `.build/TRIPLE/CONFIGURATION/notibot`. `nil` if neither
  /// can be.
  static func path(_ name: String, in folder: String, orAbove levels: Int) -> String? {
    var candidates = [folder + name]
    if let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
      let above = (0..<levels).reduce(URL(fileURLWithPath: program)) { url, _ in
        url.deletingLastPathComponent()
      }
      candidates.append(above.appendingPathComponent(name).path)
    }
    return candidates.first(where: FileManager.default.isReadableFile(atPath:))
  }
}
