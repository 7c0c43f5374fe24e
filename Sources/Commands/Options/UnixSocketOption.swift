import ArgumentParser

/// A unix socket in an option: `unix:` and its path.
enum UnixSocketOption {
  /// The path in such a name.
  /// - Throws: `ValidationError` when the form is wrong.
  static func path(_ name: String) throws -> String {
    guard name.hasPrefix("unix:"), name.count > 5 else {
      throw ValidationError("--att must be unix:PATH, for example unix:/tmp/notibot.att")
    }
    return String(name.dropFirst(5))
  }
}
