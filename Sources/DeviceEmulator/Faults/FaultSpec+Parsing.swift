import NotibotProtocol
package import SerialLink

extension Failure {
  /// The invalid part of faults, cut to 40 characters, what is wrong with it, and what is allowed.
  /// Not sanitised for a terminal.
  init(inFaults part: some StringProtocol, _ problem: String) {
    self.init(.usage, "in the faults, '\(part.prefix(40))': \(problem)")
  }
}

extension FaultSpec {
  private static let reaches = Reach.allCases.map(\.rawValue).joined(separator: ", ")
  private static let kinds = FaultKind.allCases.map(\.rawValue).joined(separator: ", ")

  /// Parses a spec; `off` is a spec without faults.
  /// - Throws: `Failure` for the first invalid part.
  package init(parsing text: String) throws(Failure) {
    self.init()
    if text == "off" { return }
    guard text.utf8.count <= Self.lengthLimitBytes else {
      throw Failure(inFaults: text, "longer than \(Self.lengthLimitBytes) bytes")
    }
    var settings: Set<Substring> = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      if let mark = part.firstIndex(of: "@") {
        try add(part, kind: part[..<mark], value: part[part.index(after: mark)...]) {
          number throws(Failure) in .at(byte: try number.byte)
        }
      } else if let mark = part.firstIndex(of: "=") {
        let name = part[..<mark]
        let value = part[part.index(after: mark)...]
        if try set(name, to: value, part: part) {
          guard settings.insert(name).inserted else { throw Failure(inFaults: part, "\(name) is set twice") }
        } else {
          try add(part, kind: name, value: value) { number throws(Failure) in .rate(try number.rate) }
        }
      } else {
        throw Failure(inFaults: part, "an item is KIND=RATE, KIND@BYTE, dir=, seed=, stall-ms= or unplug-ms=")
      }
    }
    for rule in rules { try check(rule) }
  }

  /// Parses a setting; returns false if the name is not that of a setting.
  private mutating func set(_ name: Substring, to value: Substring, part: Substring) throws(Failure)
    -> Bool
  {
    switch name {
    case "dir":
      guard let wanted = Reach(rawValue: String(value)) else {
        throw Failure(inFaults: part, "a direction is one of \(Self.reaches)")
      }
      reach = wanted
    case "seed":
      guard let number = UInt64(value) else {
        throw Failure(inFaults: part, "a seed is a number from 0 to 2^64-1")
      }
      seed = number
    case "stall-ms": stallTime = try Self.milliseconds(value, 1...60_000, part: part)
    case "unplug-ms": unplugTime = try Self.milliseconds(value, 1...600_000, part: part)
    default: return false
    }
    return true
  }

  private static func milliseconds(
    _ value: Substring, _ range: ClosedRange<Int64>, part: Substring
  ) throws(Failure) -> Duration {
    guard let number = Int64(value), range.contains(number) else {
      throw Failure(inFaults: part, "a time is \(range.lowerBound) to \(range.upperBound) ms")
    }
    return .milliseconds(number)
  }

  private struct Number {
    var part: Substring
    var text: Substring

    var rate: Double {
      get throws(Failure) {
        guard let rate = Double(text), (0...1).contains(rate) else {
          throw Failure(inFaults: part, "a rate is a probability for each byte from 0 to 1, such as 1e-4")
        }
        return rate
      }
    }

    var byte: UInt64 {
      get throws(Failure) {
        guard let byte = UInt64(text), byte > 0 else {
          throw Failure(inFaults: part, "a byte is a number from 1 on")
        }
        return byte
      }
    }
  }

  private mutating func add(
    _ part: Substring, kind name: Substring, value: Substring,
    _ occurrence: (Number) throws(Failure) -> Occurrence
  ) throws(Failure) {
    guard let kind = FaultKind(rawValue: String(name)) else {
      throw Failure(inFaults: part, "unknown; a fault is one of \(Self.kinds)")
    }
    guard rules.count < Self.rulesLimit else {
      throw Failure(inFaults: part, "more than \(Self.rulesLimit) faults")
    }
    let pieces = value.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    var reach: Reach?
    if pieces.count == 2 {
      reach = Reach(rawValue: String(pieces[1]))
      guard reach != nil else { throw Failure(inFaults: part, "a direction is one of \(Self.reaches)") }
    }
    rules.append(Rule(kind, try occurrence(Number(part: part, text: pieces[0])), reach: reach))
  }

  private func check(_ rule: Rule) throws(Failure) {
    guard let only = rule.kind.onlyDirection else { return }
    let wanted = rule.reach ?? reach
    let possible: Reach = only == .toHost ? .toHost : .toDevice
    guard wanted == .both || wanted == possible else {
      throw Failure(inFaults: rule.description, "this happens \(possible.rawValue) only")
    }
  }
}

extension FaultSpec.Rule: CustomStringConvertible {
  package var description: String {
    let suffix = reach.map { "/\($0.rawValue)" } ?? ""
    return switch occurrence {
    case .rate(let rate): "\(kind.rawValue)=\(rate)\(suffix)"
    case .at(let byte): "\(kind.rawValue)@\(byte)\(suffix)"
    }
  }
}

extension FaultSpec: CustomStringConvertible {
  package var description: String {
    let standard = FaultSpec.off
    var parts = rules.map(\.description)
    if reach != standard.reach { parts.append("dir=\(reach.rawValue)") }
    if let seed { parts.append("seed=\(seed)") }
    if stallTime != standard.stallTime { parts.append("stall-ms=\(stallTime.wholeMilliseconds)") }
    if unplugTime != standard.unplugTime { parts.append("unplug-ms=\(unplugTime.wholeMilliseconds)") }
    return parts.isEmpty ? "off" : parts.joined(separator: ",")
  }
}

extension Duration {
  fileprivate var wholeMilliseconds: Int64 { wholeNanoseconds / 1_000_000 }
}
