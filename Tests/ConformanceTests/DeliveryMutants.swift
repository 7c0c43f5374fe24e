import Conformance
import HostSuite
import SuiteWire

extension Mutant {
  /// Devices that break a rule about identity or SYNC.
  static let delivery: [Mutant] = [
    Mutant(
      name: "keeps hwm over a restart", caught: "NTF-22/since-boot", received: risingHighest()),
    Mutant(
      name: "has no identities", caught: "NTF-23/new-id", sent: writing("\"id\":", as: "\"iD\":")),
    Mutant(name: "has forgotten who wrote what", caught: "NTF-23/answer-lost", sent: neverTheSame()),
    Mutant(
      name: "counts what it refused", caught: "NTF-23/refused-moves-nothing",
      received: synced { $0[15] = max($0[15], 50) }),
    Mutant(
      name: "forgets removals between sessions", caught: "NTF-26/between-sessions",
      received: silent("\"dismissed\"")),
    Mutant(
      name: "reports an action by item only", caught: "NTF-26/action",
      received: rewriting("\"id\":", as: "\"iD\":")
    ),
    Mutant(
      name: "hides silently", caught: "NTF-27/expired-when-written", received: silent("\"expired\"")),
    Mutant(
      name: "mistakes known for hwm", caught: "NTF-28/known-ids", received: synced { $0[15] = max($0[15], 8) }
    ),
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
    Mutant(name: "counts one too many", caught: "NTF-32/over-a-life", received: synced { $0[5] &+= 1 }),
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
