import ArgumentParser

/// The time limit for a device's first answer.
struct AnswerOptions: ParsableArguments {
  private static let rangeSeconds = 0.1...600

  @Option(
    help: ArgumentHelp(
      "Time limit for the device's first answer, 0.1-600.",
      discussion: "Increase it for a board that restarts when its port is opened.", valueName: "seconds"))
  // With the start and the end of the command within 2 s, which is acceptable for a user.
  var timeout = 1.8

  func validate() throws {
    guard Self.rangeSeconds.contains(timeout) else {
      throw ValidationError("--timeout must be 0.1 to 600 seconds")
    }
  }
}
