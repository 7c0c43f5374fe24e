/// What `control wait` waits for: a value of the device, compared with a number or a word, such as
/// `stored>=3`, `chip=running` or `session=0`.
package struct DeviceCondition: Equatable, Sendable, CustomStringConvertible {
  /// The values that can be waited for, with the form of what they are compared with.
  package static let names = [
    "stored", "count", "accepted", "gone", "boots", "session", "connections", "frames", "data", "bytes",
    "chip",
  ]

  private enum Comparison: String {
    case equal = "="
    case atLeast = ">="
  }

  private let name: String
  private let comparison: Comparison
  private let value: String

  /// Parses `NAME=VALUE` or `NAME>=NUMBER`; nil if it is neither.
  package init?(parsing text: String) {
    guard let sign = text.firstIndex(of: "="), text.utf8.count <= 64 else { return nil }
    var name = text[..<sign]
    let isAtLeast = name.last == ">"
    if isAtLeast { name.removeLast() }
    guard Self.names.contains(String(name)) else { return nil }
    (self.name, comparison) = (String(name), isAtLeast ? .atLeast : .equal)
    value = String(text[text.index(after: sign)...])
    guard name == "chip" ? !isAtLeast && !value.isEmpty : Int64(value) != nil else { return nil }
  }

  package var description: String { name + comparison.rawValue + value }

  /// Whether it is so.
  func holds(for statistics: DeviceStatistics) -> Bool {
    if name == "chip" { return statistics.chip == value }
    guard let wanted = Int64(value), let number = number(in: statistics) else { return false }
    return comparison == .equal ? number == wanted : number >= wanted
  }

  private func number(in statistics: DeviceStatistics) -> Int64? {
    switch name {
    case "stored": Int64(statistics.storedCount)
    case "count": Int64(statistics.count)
    case "accepted": Int64(statistics.acceptedCount)
    case "gone": Int64(statistics.goneCount)
    case "boots": Int64(statistics.bootCount)
    case "session": statistics.session == nil ? 0 : 1
    case "connections": Int64(statistics.connectionCount)
    case "frames": Int64(clamping: statistics.framesReceived)
    case "data": Int64(clamping: statistics.link.dataReceived)
    case "bytes": Int64(clamping: statistics.bytesReceived)
    default: nil
    }
  }
}
