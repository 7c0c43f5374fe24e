/// The whole suite, in the order in which it is run and reported.
package enum Suite {
  package static let cases: [Case] = [
    framing, framingChecks, framingLengths, framingBytes, framingCounters, corruption,
    linkOpening, linkHoles, linkOrder, linkFlow, linkLimits, linkTimers, linkResends,
    linkDetails, attDetails, attLongWrites, attWalks, deliveryDetails,
    // Early: they need more room in the store than other cases.
    deliveryQueues,
    linkWraps, linkFresh, linkLife, linkFields, linkRefusals, linkRepeats, linkTLVs, linkBytes,
    linkEnds, linkEffects, linkTiming, linkLatencies, linkLeftovers,
    linkNumbers, linkFull, linkIdentities, linkStrays, linkWalks,
    attTable, attRequests, attNotifications, attLimits, attRare,
    notifications, storeLimits, connections,
    jsonGrammar, jsonStrings,
    deliveryWaiting, deliveryEvents, deliveryMemory, expiryTimers,
    delivery, deliverySources, deliveryApplied, deliveryRemovals, deliveryGone, deliveryLeaving,
    expiries, storeOrder, storeRare, storeWalks, events, actions, actionRecords, actionScopes,
    deliverySynced, deliverySessions, throughput, reconnection,
  ].flatMap { $0 }
}

/// The cases of a `Suite.chapter`, one an expression.
@resultBuilder
package enum CaseList {
  package static func buildExpression(_ listed: Case) -> [Case] { [listed] }
  package static func buildExpression(_ listed: [Case]) -> [Case] { listed }
  package static func buildBlock(_ lists: [Case]...) -> [Case] { lists.flatMap { $0 } }
}

extension Suite {
  /// Cases in the order in which they are run.
  package static func chapter(_ chapter: Chapter, @CaseList _ list: () -> [Case]) -> [Case] {
    list().flatMap { $0.variants(in: chapter) }
  }
}
