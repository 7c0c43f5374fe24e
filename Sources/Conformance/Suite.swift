/// The whole suite, in the order in which it is run and reported.
package enum Suite {
  /// Every case.
  package static let cases: [Case] = [
    framing, damage, linkOpening, linkOrder, linkTimers, attTable, attRequests, notifications, throughput,
    reconnection,
  ].flatMap { $0 }
}
