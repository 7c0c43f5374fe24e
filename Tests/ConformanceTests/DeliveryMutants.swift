import Conformance

extension Mutant {
  /// Devices that break a rule about identity or SYNC.
  static let delivery: [Mutant] =
    [
      Mutant(
        name: "takes values out of their range", caught: "NTF-20/values-refused",
        received: answering("01 12 0600 80", with: "13")),
      Mutant(
        name: "takes rev without id", caught: "NTF-20/without-id",
        received: answering("01 12 0600 80", with: "13")),
      Mutant(
        name: "reads lvl wrongly", caught: "NTF-20/values-taken", sent: writing("\"lvl\":", as: "\"lvl\":9")),
      Mutant(
        name: "looks at keys that are not in use", caught: "NTF-20/not-in-use",
        sent: changingTLV(5, in: .syn, to: [7, 0, 0, 0])),
      Mutant(
        name: "syncs with a host that does not", caught: "NTF-30/not-in-use",
        sent: changingTLV(5, in: .syn, to: [7, 0, 0, 0])),
      Mutant(name: "does not read SRC", caught: "NTF-21/src-of-syn", sent: withoutTLV(7)),
      Mutant(name: "keeps its first writer", caught: "NTF-21/src-of-sync", sent: ofFirstWriter()),
      Mutant(
        name: "does not know the key src", caught: "NTF-21/src-key", sent: writing("\"src\":", as: "\"sRc\":")
      ),
      Mutant(
        name: "takes id without src", caught: "NTF-21/no-src",
        received: answering("01 12 0600 80", with: "13")),
      Mutant(
        name: "keeps the src of the session before", caught: "NTF-21/src-ends-with-session",
        sent: ofFirstWriter()),
      Mutant(
        name: "one hwm for all", caught: "NTF-22/four-sources", received: risingHighest()),
      Mutant(
        name: "forgets a writer only in part", caught: "NTF-22/fifth-source",
        received: synced { if $0[5] == 0 { $0[15] = 7 } }),
      Mutant(
        name: "keeps hwm over a restart", caught: "NTF-22/since-boot", received: risingHighest()),
      Mutant(
        name: "has no identities", caught: "NTF-23/new-id", sent: writing("\"id\":", as: "\"iD\":")),
      Mutant(
        name: "does not know rev", caught: "NTF-23/higher-rev", sent: writing("\"rev\":", as: "\"reV\":")),
      Mutant(
        name: "has a rev of eight bits", caught: "NTF-23/lower-rev",
        sent: writing("\"rev\":300", as: "\"rev\": 44")),
      Mutant(name: "mistakes other bytes for the same", caught: "NTF-23/same-again", sent: neverTheSame()),
      Mutant(name: "has forgotten who wrote what", caught: "NTF-23/answer-lost", sent: neverTheSame()),
      Mutant(
        name: "takes other bytes of the same rev", caught: "NTF-23/same-rev-other-bytes",
        received: answering("01 12 0600 81", with: "13")),
      Mutant(
        name: "drops old ids silently", caught: "NTF-23/old-id-not-stored",
        received: silent("\"dismissed\"")),
      Mutant(
        name: "counts what it refused", caught: "NTF-23/refused-moves-nothing",
        received: synced { $0[15] = max($0[15], 50) }),
      Mutant(
        name: "removes nothing", caught: "NTF-24/removed", sent: writing("\"ev\":\"r\"", as: "\"ev\":\"m\"")),
      Mutant(
        name: "a removal moves hwm", caught: "NTF-24/unknown",
        sent: writing("\"ev\":\"r\"", as: "\"ev\":\"m\"")),
      Mutant(
        name: "reports what the writer removed", caught: "NTF-24/ends-the-notifications",
        sent: writing("\"ev\":\"r\"", as: "\"ev\":\"m\"")),
      Mutant(
        name: "removes by rev", caught: "NTF-24/rev-is-not-looked-at",
        sent: writing("\"ev\":\"r\",\"lvl\"", as: "\"ev\":\"m\",\"lvl\"")),
      Mutant(name: "evicts silently", caught: "NTF-25/full", received: silent("\"evicted\"")),
      Mutant(
        name: "accepts all, full or not", caught: "NTF-25/full",
        received: answering("01 12 0600 11", with: "13")),
    ] + deliveryNotifications

  private static let deliveryNotifications: [Mutant] = [
    Mutant(name: "reports no dismissal", caught: "NTF-26/at-once", received: silent("\"dismissed\"")),
    Mutant(
      name: "reports the item only", caught: "NTF-26/at-once", received: rewriting("\"id\":", as: "\"iD\":")),
    Mutant(name: "reports everything once", caught: "NTF-26/at-each-sync", received: notifyingOnce()),
    Mutant(name: "reports nothing for a late write", caught: "NTF-26/at-a-write", received: notifyingOnce()),
    Mutant(name: "forgets 64 gone notifications", caught: "NTF-26/remembers-64", received: notifyingOnce()),
    Mutant(
      name: "reports another id", caught: "NTF-26/of-its-src",
      received: rewriting("\"id\":1", as: "\"id\":2")),
    Mutant(
      name: "forgets removals between sessions", caught: "NTF-26/between-sessions",
      received: silent("\"dismissed\"")),
    Mutant(name: "does not know GONE", caught: "NTF-26/beyond-mtu", received: message(4, as: 0x7F)),
    Mutant(
      name: "sends GONE to a host that does not sync", caught: "NTF-26/without-sync",
      sent: changingTLV(5, in: .syn, to: [7, 0, 0, 0])),
    Mutant(
      name: "reports an action by item only", caught: "NTF-26/action",
      received: rewriting("\"id\":", as: "\"iD\":")
    ),
    Mutant(name: "does not know the time", caught: "NTF-27/expires", sent: withoutTLV(9)),
    Mutant(
      name: "hides silently", caught: "NTF-27/expired-when-written", received: silent("\"expired\"")),
    Mutant(
      name: "forgets expired notifications", caught: "NTF-27/expires",
      received: synced { if $0[5] == 2 { $0[5] = 1 } }),
    Mutant(
      name: "mistakes known for hwm", caught: "NTF-28/known-ids", received: synced { $0[15] = max($0[15], 8) }
    ),
    Mutant(
      name: "reports another capacity", caught: "NTF-30/synced-layout", received: synced { $0[19] ^= 1 }),
    Mutant(
      name: "leaves out the boot id", caught: "NTF-30/synced-layout", received: synced { $0.removeLast(4) }),
    Mutant(
      name: "mistakes every message for a SYNC", caught: "NTF-30/bad-messages",
      sent: changing { frame in
        if frame.kind == .data, frame.channel == 0 { frame.payload = Sync(5).bytes }
      }),
    Mutant(
      name: "refuses a long SYNC", caught: "NTF-30/long",
      sent: changing { if $0.kind == .data, $0.channel == 0, $0.payload.count > 19 { $0.payload[0] = 0x7F } }),
    Mutant(
      name: "answers one SYNC of two", caught: "NTF-31/one-answer-each",
      received: {
        var answers = 0
        return FrameFilter.frames { frame in
          var changed = frame
          if frame.kind == .data, frame.channel == 0, frame.payload.first == 2 {
            answers += 1
            if answers == 2 { changed.payload[0] = 0x7F }
          }
          return [changed]
        }
      }),
    Mutant(
      name: "mixes its digest differently", caught: "NTF-32/digest-of-the-page",
      received: synced { $0[7] ^= 1 }
    ),
    Mutant(name: "counts one too many", caught: "NTF-32/over-a-life", received: synced { $0[5] &+= 1 }),
    Mutant(
      name: "reads before it sums", caught: "NTF-32/of-the-bytes",
      sent: writing("\"c\",\"timestamp\":1,", as: "\"c\", \"timestamp\":1,")),
    Mutant(
      name: "counts all writers' notifications", caught: "NTF-32/identified-only",
      received: synced { $0[5] &+= 1 }),
    Mutant(name: "drops silently", caught: "NTF-33/once", received: message(3, as: 0x7F)),
    Mutant(
      name: "asks for SYNC again and again", caught: "NTF-33/once",
      received: changing { frame in
        guard frame.payload.starts(with: [0x1B, 6, 0]), text(of: frame).contains("\"act\":1") else { return }
        frame.channel = 0
        frame.payload = [3]
      }),
    Mutant(
      name: "forgets identities with the session", caught: "NTF-12/identity-outlives-session",
      received: {
        var sessions = 0
        return FrameFilter.frames { frame in
          if frame.kind == .synAck { sessions += 1 }
          var changed = frame
          if sessions > 1, frame.kind == .data, frame.channel == 0, frame.payload.first == 2 {
            changed.payload.replaceSubrange(5..<19, with: [UInt8](repeating: 0, count: 14))
          }
          return [changed]
        }
      }),
  ]
}

extension Mutant {
  private static func text(of frame: WireFrame) -> String {
    String(decoding: frame.payload.dropFirst(3), as: UTF8.self)
  }

  /// Changes the JSON of frames whose PDU begins with these bytes.
  private static func replacing(
    _ prefix: [UInt8], _ old: String, with new: String
  ) -> @Sendable () -> MutantLine.Change {
    changing { frame in
      guard frame.kind == .data, frame.channel == 4, frame.payload.starts(with: prefix) else { return }
      frame.payload = prefix + Array(text(of: frame).replacing(old, with: new).utf8)
    }
  }

  /// Changes the values written to Data.
  static func writing(_ old: String, as new: String) -> @Sendable () -> MutantLine.Change {
    replacing([0x12, 6, 0], old, with: new)
  }

  /// Changes the notifications of Data.
  static func rewriting(_ old: String, as new: String) -> @Sendable () -> MutantLine.Change {
    replacing([0x1B, 6, 0], old, with: new)
  }

  /// Removes the meaning of events that contain a word; their frames are still sent.
  static func silent(_ word: String) -> @Sendable () -> MutantLine.Change {
    changing { frame in
      guard frame.payload.starts(with: [0x1B, 6, 0]), text(of: frame).contains(word) else { return }
      frame.payload = [0x1B, 6, 0, 0x7B, 0x7D]
    }
  }

  /// Sends each event once and never again, in any session.
  static func notifyingOnce() -> @Sendable () -> MutantLine.Change {
    {
      var unsolicited: Set<[UInt8]> = []
      return FrameFilter.frames { frame in
        guard frame.payload.starts(with: [0x1B, 6, 0]), !unsolicited.insert(frame.payload).inserted else {
          return [frame]
        }
        var changed = frame
        changed.payload = [0x1B, 6, 0, 0x7B, 0x7D]
        return [changed]
      }
    }
  }

  /// Changes the bytes of each SYNCED.
  static func synced(_ change: @escaping @Sendable (inout [UInt8]) -> Void)
    -> @Sendable () -> MutantLine.Change
  {
    changing { frame in
      if frame.kind == .data, frame.channel == 0, frame.payload.count == 25 { change(&frame.payload) }
    }
  }

  /// Changes the kind of messages on channel 0.
  static func message(_ kind: UInt8, as other: UInt8) -> @Sendable () -> MutantLine.Change {
    changing { if $0.kind == .data, $0.channel == 0, $0.payload.first == kind { $0.payload[0] = other } }
  }

  /// Drops a TLV of SYN.
  static func withoutTLV(_ type: UInt8) -> @Sendable () -> MutantLine.Change {
    changing { frame in
      guard frame.kind == .syn, let tlvs = TLV.parse(frame.payload) else { return }
      frame.payload = tlvs.filter { $0.type != type }.payload
    }
  }

  /// hwm never falls, whichever writer syncs.
  static func risingHighest() -> @Sendable () -> MutantLine.Change {
    {
      var seen: UInt8 = 0
      return FrameFilter.frames { frame in
        guard frame.kind == .data, frame.channel == 0, frame.payload.count == 25 else { return [frame] }
        var changed = frame
        seen = max(seen, frame.payload[15])
        changed.payload[15] = seen
        return [changed]
      }
    }
  }

  /// Every identified write uses the first src that a SYN or SYNC named.
  static func ofFirstWriter() -> @Sendable () -> MutantLine.Change {
    {
      var first: UInt64?
      return FrameFilter.frames { frame in
        var changed = frame
        if frame.kind == .syn, first == nil { first = TLV.parse(frame.payload)?.number(of: 7) }
        if frame.kind == .data, frame.payload.starts(with: [0x12, 6, 0]), let first {
          changed.payload.removeLast()
          changed.payload += Array(",\"src\":\(first)}".utf8)
        }
        return [changed]
      }
    }
  }

  /// A notification that is written again is written with other bytes.
  static func neverTheSame() -> @Sendable () -> MutantLine.Change {
    {
      var seen: Set<[UInt8]> = []
      return FrameFilter.frames { frame in
        var changed = frame
        if frame.payload.starts(with: [0x12, 6, 0]), !seen.insert(frame.payload).inserted {
          changed.payload.append(0x20)
        }
        return [changed]
      }
    }
  }
}
