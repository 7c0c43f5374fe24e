package import NotibotProtocol

extension Forwarder {
  /// The counters since it began, over all ports and sessions.
  package var statistics: ForwardingStatistics { machine.statistics }

  /// The newest content of notifications in the outbox, by number.
  package func contents(of numbers: [OutboxNumber]) -> [OutboxNumber: DisplayNotification] {
    Dictionary(numbers.compactMap { number in machine.outbox.content(of: number).map { (number, $0) } }) {
      first, _ in first
    }
  }
}
