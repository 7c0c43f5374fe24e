import NotibotProtocol

/// Random operations, each compared with a model of the store.
extension Suite {
  static let storeWalks = chapter(.delivery) {
    Case(
      "NTF-8/random-walk",
      "Writes, changes, removals and dismissals in a store that is often full follow the rules",
      also: [
        "NTF-1", "NTF-4", "NTF-10", "NTF-20", "NTF-22", "NTF-23", "NTF-24", "NTF-25", "NTF-26", "NTF-27",
        "NTF-32", "ATT-17",
      ],
      needs: [.strict]
    ) { _, bench in
      try await StoreWalk.run(.init(room: 5), on: bench)
    }

    Case(
      "NTF-22/random-walk-of-writers",
      "More writers than the device knows take turns, and it forgets the right ones",
      also: ["NTF-10", "NTF-21", "NTF-23", "NTF-24", "NTF-26", "NTF-31", "NTF-33"], needs: [.strict]
    ) { _, bench in
      try await StoreWalk.run(
        .init(
          sources: .max, fresh: 40, changes: 20, plains: 2, syncs: 15, sessions: 6, dismissals: 4,
          room: 7),
        on: bench)
    }

    Case(
      "NTF-31/random-walk-of-syncs",
      "SYNCs between all kinds of writes are answered with the contents of the device",
      also: ["NTF-21", "NTF-23", "NTF-26", "NTF-30", "NTF-32", "ATT-17"], needs: [.strict]
    ) { _, bench in
      try await StoreWalk.run(
        .init(sources: 3, olds: 15, removals: 25, syncs: 40, sessions: 5, subscriptions: 6, room: 4),
        on: bench)
    }

    Case(
      "NTF-27/random-walk-of-expiry",
      "Notifications that expire while others are written, changed and removed are hidden and reported",
      also: ["NTF-10", "NTF-23", "NTF-25", "NTF-26", "NTF-32"], needs: [.strict]
    ) { _, bench in
      try await StoreWalk.run(
        .init(changes: 40, plains: 15, syncs: 8, sessions: 10, waits: 12, expiring: 70, room: 12), on: bench)
    }

    Case(
      "NTF-26/random-walk-of-bearers",
      "Pending reports are sent once, in order, or dropped with the session, at any MTU and with any features",
      also: [
        "LNK-9", "LNK-23", "ATT-3", "ATT-17", "ATT-19", "NTF-10", "NTF-11", "NTF-20", "NTF-27", "NTF-30",
        "NTF-31", "NTF-32",
      ],
      needs: [.strict]
    ) { _, bench in
      try await StoreWalk.run(
        .init(
          sources: 3, fresh: 40, olds: 4, plains: 8, syncs: 12, sessions: 20, subscriptions: 8,
          dismissals: 12, waits: 3, presses: 8, waiting: 20, isVaried: true, room: 12), on: bench, steps: 500)
    }
  }
}
