import Foundation

/// Files of this repository, of its builds and of its packages.
package enum BuiltFile {
  /// The first that can be read: `name` in `folder` below the current directory, in the folder
  /// `levels` above this program, which is `.build/TRIPLE/CONFIGURATION/notibot`, or as installed.
  /// `nil` if none can be.
  static func path(_ name: String, in folder: String, orAbove levels: Int) -> String? {
    var candidates = [folder + name]
    if let program {
      let above = (0..<levels).reduce(program) { url, _ in url.deletingLastPathComponent() }
      candidates.append(above.appendingPathComponent(name).path)
    }
    let installed = installed("notibot/" + (name.split(separator: "/").last ?? ""))
    return candidates.first(where: FileManager.default.isReadableFile(atPath:)) ?? installed
  }

  /// A file or folder of a package, below `share` next to this program or next to its folder.
  package static func installed(_ name: String) -> String? {
    guard let folder = program?.deletingLastPathComponent() else { return nil }
    return [folder.deletingLastPathComponent(), folder].map {
      $0.appendingPathComponent("share/\(name)").path
    }
    .first(where: FileManager.default.isReadableFile(atPath:))
  }

  /// The folder of the pages, as installed or of the repository.
  package static var docs: String? {
    installed("doc/notibot/docs")
      ?? path("docs/PROTOCOL.md", in: "", orAbove: 4).map { String($0.dropLast("/PROTOCOL.md".count)) }
  }

  private static var program: URL? {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
      .map(URL.init(fileURLWithPath:))
  }
}
