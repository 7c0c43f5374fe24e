import ArgumentParser

/// The option that says how long a device is waited for.
struct AnswerOptions: ParsableArguments {
  private static let rangeSeconds = 0.1...600

  @Option(
    help: ArgumentHelp(
      "How long the device has to answer the first time, 0.1-600.",
      discussion: "Longer for a board that restarts when its port is opened.", valueName: "seconds"))
  var timeout = 1.8

  func validate() throws {
    guard Self.rangeSeconds.contains(timeout) else {
      throw ValidationError("--timeout is 0.1 to 600 seconds")
    }
  }
}
