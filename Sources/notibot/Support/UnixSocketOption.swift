import ArgumentParser

/// A unix socket as an option names it: `unix:` and its path.
enum UnixSocketOption {
  /// The path in such a name.
  /// - Throws: `ValidationError` when it is none.
  static func path(_ name: String) throws -> String {
    guard name.hasPrefix("unix:"), name.count > 5 else {
      throw ValidationError("--att takes unix: and a path, as in unix:/tmp/notibot.att")
    }
    return String(name.dropFirst(5))
  }
}
