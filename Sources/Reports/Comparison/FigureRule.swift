/// Whether more of a figure is better, and which difference is too small to matter.
struct FigureRule: Equatable {
  enum Direction: Equatable {
    case higherIsBetter
    case lowerIsBetter
    /// A setting or a count without a merit.
    case neither
  }

  var direction: Direction
  /// A smaller difference is never a change, in the figure's unit.
  var least: Double

  /// Words at the end of a figure's name decide, because reports name units there; a figure with
  /// another name has no merit.
  init(name: String) {
    let parts = name.split(separator: ".").map(String.init)
    let last = parts.last ?? ""
    // Percentiles and medians are named after what they are of.
    let isStatistic = ["p50", "p99", "max", "medianMs", "maxMs"].contains(last)
    let subject = isStatistic && parts.count > 1 ? parts[parts.count - 2] : last
    switch (subject, last) {
    case ("lost", _), ("doubled", _), ("undelivered", _), ("differences", _), ("refused", _), ("failed", _),
      ("errored", _):
      (direction, least) = (.lowerIsBetter, 0)
    case ("resends", _), ("crcErrors", _), ("syncs", _): (direction, least) = (.lowerIsBetter, 5)
    case ("passed", _), ("lineShare", _), ("shareOfLine", _), ("upShare", _), ("keyedThroughput", _):
      (direction, least) = (.higherIsBetter, 0.01)
    case (_, "medianMs"), (_, "maxMs"): (direction, least) = (.lowerIsBetter, 0.5)
    case _ where subject.hasSuffix("PerSecond"): (direction, least) = (.higherIsBetter, 0)
    case _ where subject.hasSuffix("MicrosecondsPerNotification"), ("microsecondsPerNotification", _):
      (direction, least) = (.lowerIsBetter, 0.2)
    case _ where subject.hasSuffix("Microseconds"): (direction, least) = (.lowerIsBetter, 2)
    case _ where subject.hasSuffix("Ms"): (direction, least) = (.lowerIsBetter, 0.05)
    case _ where subject.hasSuffix("Bytes") && subject != "textBytes", ("residentBytesStart", _),
      ("residentBytesEnd", _), ("hostStartBytes", _), ("hostEndBytes", _):
      (direction, least) = (.lowerIsBetter, 2e6)
    case ("seconds", _): (direction, least) = (.lowerIsBetter, 0.2)
    case _: (direction, least) = (.neither, 0)
    }
  }
}
