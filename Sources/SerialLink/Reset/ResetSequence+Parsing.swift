extension ResetSequence {
  /// The longest text of a sequence, in bytes.
  package static let textLimitBytes = 256
  /// Steps, at most.
  package static let stepsLimit = 64
  /// The longest wait, and the longest total of all waits.
  package static let waitLimit = Duration.seconds(10)
  package static let lengthLimit = Duration.seconds(30)

  /// The syntax of a sequence in one line, for help and errors.
  package static let form =
    "Steps separated by |: D0 or D1 (DTR), R0 or R1 (RTS), U0,1 (both at once, DTR first), W0.1 (seconds), as in D0|R1|W0.1|D1|R0|W0.05|D0"

  /// Parses the notation of esptool's `custom_reset_sequence`.
  package init(parsing text: String) throws(Failure) {
    guard text.utf8.count <= Self.textLimitBytes else {
      throw Failure(.usage, "a sequence has at most \(Self.textLimitBytes) bytes")
    }
    let words = text.split(separator: "|", omittingEmptySubsequences: false)
    guard words.count <= Self.stepsLimit else {
      throw Failure(.usage, "a sequence has at most \(Self.stepsLimit) steps")
    }
    var steps: [Step] = []
    for word in words { steps.append(try Self.step(word)) }
    let sequence = ResetSequence("custom", steps)
    let (changes, length) = sequence.changes(from: ModemLines(dtr: false, rts: false))
    guard !changes.isEmpty else {
      throw Failure(.usage, "the sequence changes no line")
    }
    guard length <= Self.lengthLimit else {
      throw Failure(.usage, "a sequence takes at most 30 seconds")
    }
    self = sequence
  }

  private static func step(_ word: Substring) throws(Failure) -> Step {
    let value = word.dropFirst()
    switch word.first {
    case "D": if let isOn = level(value) { return .lines(dtr: isOn, rts: nil) }
    case "R": if let isOn = level(value) { return .lines(dtr: nil, rts: isOn) }
    case "U":
      let levels = value.split(separator: ",", omittingEmptySubsequences: false)
      if levels.count == 2, let dtr = level(levels[0]), let rts = level(levels[1]) {
        return .lines(dtr: dtr, rts: rts)
      }
    case "W": if let duration = duration(value) { return .wait(duration) }
    case _: break
    }
    throw Failure(.usage, "'\(word.prefix(20))' is not a valid step")
  }

  private static func level(_ text: Substring) -> Bool? {
    switch text {
    case "0": false
    case "1": true
    case _: nil
    }
  }

  /// Seconds with at most six decimals, 0 to `waitLimit`.
  private static func duration(_ text: Substring) -> Duration? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let digits = parts.allSatisfy {
      !$0.isEmpty && $0.utf8.count <= 6 && $0.utf8.allSatisfy { (48...57).contains($0) }
    }
    guard digits, (1...2).contains(parts.count), let whole = Int64(parts[0]) else { return nil }
    let decimals = parts.count == 2 ? parts[1] : "0"
    let padded = decimals + String(repeating: "0", count: 6 - decimals.utf8.count)
    guard let microseconds = Int64(padded) else { return nil }
    let duration = Duration.seconds(whole) + .microseconds(microseconds)
    return duration <= waitLimit ? duration : nil
  }
}
