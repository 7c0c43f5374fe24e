/// The permitted range of a numeric option. A value outside of it is refused, never adjusted.
struct OptionRange {
  /// As a client spells it.
  let name: String
  let range: ClosedRange<Int>

  static let requestsLimit = OptionRange(name: "requestsLimit", range: 1...32)
  static let eventsLimit = OptionRange(name: "eventsLimit", range: 1...1_000_000)
  static let window = OptionRange(name: "window", range: 1...512)
  static let entriesLimit = OptionRange(name: "entriesLimit", range: 1...1_000_000)
  static let reportsLimit = OptionRange(name: "reportsLimit", range: 1...1_000_000)
  static let changesLimit = OptionRange(name: "changesLimit", range: 1...1_000_000)

  /// Throws `NotibotError.Code.usage` unless `value` is in the range.
  func check(_ value: Int, port: String, operation: String) throws(NotibotError) {
    guard !range.contains(value) else { return }
    throw NotibotError(
      code: .usage, port: port, operation: operation,
      reason: "\(name) is \(value)", hint: "choose \(range.lowerBound) to \(range.upperBound)")
  }
}

extension DeviceOptions {
  func check(port: String) throws(NotibotError) {
    try OptionRange.requestsLimit.check(requestsLimit, port: port, operation: "open")
    try OptionRange.eventsLimit.check(eventsLimit, port: port, operation: "open")
  }
}

extension ForwardingOptions {
  func check(port: String) throws(NotibotError) {
    try OptionRange.entriesLimit.check(entriesLimit, port: port, operation: "forward to")
    try OptionRange.reportsLimit.check(reportsLimit, port: port, operation: "forward to")
    try OptionRange.changesLimit.check(changesLimit, port: port, operation: "forward to")
  }
}
