import NotibotHost
import NotibotProtocol
import SerialLink
import Testing

@Suite struct JournalMaintenanceTests {
  private let contents = JournalContents(header: JournalHeader(source: 7), entries: Entries.varied)
  private var numbers: [OutboxNumber] { contents.entries.map(\.number) }

  @Test func `all refused notifications are queued, and no others`() throws {
    let plan = try JournalMaintenance.retry([], in: contents)
    #expect(plan.queued == [numbers[5], numbers[6]])
    var first = contents.entries[5]
    var second = contents.entries[6]
    first.state = .queued
    second.state = .queued
    // The newest content is sent with the next write.
    second.hasNewerContent = false
    #expect(plan.changes == [.put(first), .put(second)])
  }

  @Test func `notifications that were not refused are not queued again`() throws {
    for (index, entry) in contents.entries.enumerated() where ![5, 6].contains(index) {
      let error = #expect(throws: Failure.self) {
        try JournalMaintenance.retry([numbers[5], entry.number], in: contents)
      }
      let text = "notification \(entry.number.rawValue) is \(entry.state.name), not refused"
      #expect(error?.message.hasPrefix(text) == true)
    }
  }

  @Test func `dropping removes notifications that are or may be on the device`() throws {
    let plan = try JournalMaintenance.drop(numbers.reversed(), in: contents)
    #expect(plan.dropped == [numbers[0], numbers[5], numbers[6], numbers[7]])
    #expect(plan.removing == [numbers[1], numbers[2], numbers[3], numbers[4]])
    let ids = plan.changes.compactMap { change -> UInt32? in
      guard case .put(let entry) = change, case .removing(let id) = entry.state else { return nil }
      #expect(!entry.hasNewerContent)
      return id
    }
    #expect(ids == [1, 2, .max, 4])
  }

  @Test func `forgetting deletes in any state`() throws {
    let plan = try JournalMaintenance.forget(numbers, in: contents)
    #expect(plan.changes == numbers.map { .delete($0) })
    #expect(plan.dropped == numbers && plan.removing == [])
  }

  @Test func `an unknown number refuses the whole request`() throws {
    let unknown = OutboxNumber(rawValue: 3)
    let requests: [([OutboxNumber], JournalContents) throws -> JournalMaintenance.Plan] = [
      { try JournalMaintenance.retry($0, in: $1) }, { try JournalMaintenance.drop($0, in: $1) },
      { try JournalMaintenance.forget($0, in: $1) },
    ]
    for request in requests {
      let error = #expect(throws: Failure.self) { _ = try request([numbers[5], unknown], contents) }
      #expect(error?.message.contains("no notification 3;") == true)
    }
  }
}
