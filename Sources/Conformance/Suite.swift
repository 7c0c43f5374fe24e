/// The whole suite, in the order in which it is run and reported.
package enum Suite {
  /// Every case.
  package static let cases: [Case] = [
    framing, damage, hostFraming,
    linkOpening, linkOrder, linkTimers, hostSession, hostFlow,
    attTable, attRequests, hostATT,
    notifications,
    throughput, system,
    reconnection, systemReconnection,
  ].flatMap { $0 }
}
