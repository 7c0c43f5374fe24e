/// The whole suite, in the order in which it is run and reported.
package enum Suite {
  /// Every case, of devices and of the host.
  package static let all: [Case] = [
    framing, framingChecks, framingLengths, framingBytes, framingCounters, corruption, hostFraming,
    linkOpening, linkOrder, linkLimits, linkTimers, linkResends, hostSession, hostFlow, hostLimits,
    linkDetails, attDetails, attLongWrites, attWalks, deliveryDetails,
    // Early: they need more room in the store than other cases.
    deliveryQueues,
    linkWraps, linkFresh, linkLife, linkFields, linkRefusals, linkRepeats, linkTLVs, linkBytes,
    linkEnds, linkEffects, linkTiming, linkLatencies, linkLeftovers,
    linkNumbers, linkFull, linkIdentities, linkStrays, linkWalks,
    attTable, attRequests, attLimits, attRare, hostATT,
    notifications, connections,
    jsonGrammar, jsonStrings,
    deliveryWaiting, deliveryEvents, deliveryMemory, expiryTimers,
    delivery, deliverySources, deliveryApplied, deliveryRemovals, deliveryGone, deliveryLeaving,
    expiries, storeOrder, storeRare, storeWalks, events, actions, actionRecords, actionScopes,
    deliverySynced,
    deliverySessions, hostDelivery, hostDeliverySynced, hostDeliverySources,
    hostActions,
    throughput, system,
    reconnection, systemReconnection,
  ].flatMap { $0 }

  /// The cases that test a device.
  package static let cases = all.filter { !$0.needs.contains(.host) }

  /// The cases that test the host of this program (`Need.host`): they are not about a device.
  package static let hostCases = all.filter { $0.needs.contains(.host) }

  /// The rules without a case, each with its reason.
  package static let uncovered: [String: String] = [
    "FRM-17": "a rate is a setting of the port below the line that a case has",
    "FRM-18":
      "modem lines and pending input are below the line that a case has; SerialLinkTests check them",
  ]

  /// The cases that check each rule. If a rule applies to both sides, some of its cases are about
  /// the host (`Need.host`), some about the device.
  package static let coverage: [String: [Case]] = {
    var coverage: [String: [Case]] = [:]
    for testCase in all {
      for rule in testCase.rules { coverage[rule, default: []].append(testCase) }
    }
    return coverage
  }()
}
