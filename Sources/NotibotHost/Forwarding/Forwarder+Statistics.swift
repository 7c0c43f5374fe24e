extension Forwarder {
  /// The counters since it began, over all ports and sessions.
  package var statistics: ForwardingStatistics { machine.statistics }
}
