extension Forwarder {
  /// What has been counted since it began, over all ports and sessions.
  package var statistics: ForwardingStatistics { machine.statistics }
}
