#if Gateway
import GRDB
import GatewayRules
import NotibotHost

// A number of the outbox means nothing without the outbox: another one, or an older copy, gives the
// same numbers to other notifications.
extension GatewayStore {
  /// The outbox will go on under this source. Blocks.
  func recordRenewal(_ source: UInt32) throws(JournalError) {
    try change { try $0.execute(sql: "UPDATE outbox SET next_src = ?", arguments: [source]) }
  }

  /// Refers all numbers to an outbox that is about to be opened, and forgets those that are not its
  /// own. Returns how many items and first presses were forgotten. Decisions are still delivered.
  /// Blocks.
  func bind(to outbox: OutboxIdentity) throws(JournalError) -> Int {
    try change { database in
      let isKept = try Self.bond(database)?.isKept(source: outbox.source, token: outbox.token) ?? true
      // Of an older copy that nobody has used, those that it has given are right.
      let last = isKept ? outbox.lastNumber : 0
      let forgotten = try Int.fetchOne(
        database,
        sql: """
          SELECT (SELECT count(*) FROM item WHERE number > ?1)
            + (SELECT count(*) FROM decision WHERE number > ?1 AND state IN ('unclaimed', 'confirming'))
          """, arguments: [last])
      for sql in [
        "DELETE FROM item WHERE number > ?1", "DELETE FROM summary WHERE number > ?1 OR ?1 = 0",
        "DELETE FROM decision WHERE number > ?1 AND state IN ('unclaimed', 'confirming')",
        // Zero is no notification's number.
        "UPDATE decision SET number = 0 WHERE number > ?1",
      ] {
        try database.execute(sql: sql, arguments: [last])
      }
      try database.execute(
        sql: "REPLACE INTO outbox VALUES (1, ?, NULL, ?, ?)",
        arguments: [outbox.source, outbox.token, outbox.nextToken])
      return forgotten ?? 0
    }
  }

  private static func bond(_ database: Database) throws -> OutboxBond? {
    try Row.fetchOne(database, sql: "SELECT src, next_src, token, next_token FROM outbox").map { row in
      let (source, next): (UInt32, UInt32?) = (row["src"], row["next_src"])
      return OutboxBond(
        sources: [source] + (next.map { [$0] } ?? []), tokens: [row["token"], row["next_token"]])
    }
  }
}
#endif
