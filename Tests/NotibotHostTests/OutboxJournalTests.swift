import NotibotProtocol
import Testing

@testable import NotibotHost

/// Marks, commits and their effects, without an outbox.
struct OutboxJournalTests {
  private static let header = JournalHeader(source: 7)

  private static func number(_ value: Int64) -> OutboxNumber { OutboxNumber(rawValue: value) }

  private static func pending(_ number: UInt32) -> PendingPress {
    let press = KeptPress(act: 0, key: NotificationKey(source: 7, id: 1), revision: 0, number: number)
    return PendingPress(press: press, bootID: 9, number: nil, isStale: false)
  }

  private static func commit(_ journal: inout OutboxJournal) -> [JournalChange]? {
    journal.nextCommit(of: OutboxEntries([]), header: header)
  }

  @Test func `each kind of mark alone makes a commit`() {
    let kinds: [((inout OutboxJournal) -> Void, [JournalChange])] = [
      ({ $0.mark(Self.number(1)) }, [.delete(Self.number(1))]),
      ({ $0.markHeader() }, [.header(Self.header)]),
      ({ $0.markBoot(9) }, [.header(Self.header)]),
      ({ $0.markRenewal(source: 8) }, [.header(Self.header)]),
      ({ $0.markForgotten([5]) }, [.deleteKey(5)]),
      ({ $0.mark(Self.pending(3), [.deletePresses(4)]) }, [.deletePresses(4)]),
    ]
    for (mark, changes) in kinds {
      var journal = OutboxJournal()
      #expect(Self.commit(&journal) == nil)
      #expect(journal.isIdle)
      mark(&journal)
      #expect(!journal.isIdle)
      #expect(Self.commit(&journal) == changes)
      #expect(!journal.isIdle)
      #expect(Self.commit(&journal) == nil)
      _ = journal.confirm()
      #expect(journal.isIdle)
      #expect(Self.commit(&journal) == nil)
    }
  }

  @Test func `one commit has the forgotten keys, the header, the presses, then the entries`() {
    var journal = OutboxJournal()
    let key = Entries.key(1, "k", number: 2)
    journal.mark(Self.number(2), then: .delivered(Self.number(2)))
    journal.mark(Self.number(1), then: .removed(Self.number(1)))
    journal.mark(Self.number(2), then: .storeFull)
    journal.markKey(key)
    journal.markForgotten([5])
    journal.markForgotten([6, 7])
    journal.mark(Self.pending(3), [.deletePresses(4)])
    journal.markBoot(9)
    journal.markRenewal(source: 8)
    #expect(
      Self.commit(&journal) == [
        .deleteKey(5), .deleteKey(6), .deleteKey(7), .header(Self.header), .deletePresses(4),
        .delete(Self.number(2)), .putKey(key), .delete(Self.number(1)),
      ])
    #expect(
      journal.confirm() == [
        .bootNoted(9), .renewed(8), .pressesTaken([Self.pending(3)]),
        .report(.delivered(Self.number(2))), .report(.storeFull), .report(.removed(Self.number(1))),
      ])
  }

  @Test func `a commit has at most 1024 changes, except for a change of source`() {
    for renews in [false, true] {
      var journal = OutboxJournal()
      for value in 1...1100 as ClosedRange<Int64> { journal.mark(Self.number(value)) }
      if renews { journal.markRenewal(source: 8) } else { journal.markHeader() }
      #expect(Self.commit(&journal)?.count == (renews ? 1101 : 1024))
      _ = journal.confirm()
      journal.mark(Self.number(2000))
      #expect(Self.commit(&journal)?.count == (renews ? 1 : 78))
    }
  }

  @Test func `after a change of source a commit is limited again`() {
    var journal = OutboxJournal()
    journal.markRenewal(source: 8)
    _ = Self.commit(&journal)
    _ = journal.confirm()
    for value in 1...1100 as ClosedRange<Int64> { journal.mark(Self.number(value)) }
    #expect(Self.commit(&journal)?.count == 1024)
  }

  @Test func `a mark is not durable before its commit, whichever mark is asked about after it`() {
    var journal = OutboxJournal()
    journal.mark(Self.number(1))
    journal.mark(Self.number(2))
    #expect((1...3).map { journal.isDurable(Self.number(2), upTo: $0) } == [true, false, false])
    _ = Self.commit(&journal)
    #expect((1...3).map { journal.isDurable(Self.number(2), upTo: $0) } == [true, false, false])
    _ = journal.confirm()
    #expect((1...3).map { journal.isDurable(Self.number(2), upTo: $0) } == [true, true, true])
  }

  @Test func `a report is appended to the marks of its entry, or to their commit, and else to none`() {
    var journal = OutboxJournal()
    #expect(journal.append(.storeFull, toPending: Self.number(1)) == false)
    journal.mark(Self.number(1))
    #expect(journal.append(.storeFull, toPending: Self.number(1)) == true)
    _ = Self.commit(&journal)
    #expect(journal.append(.diverged, toPending: Self.number(1)) == true)
    #expect(journal.append(.diverged, toPending: Self.number(2)) == false)
    #expect(journal.confirm() == [.report(.storeFull), .report(.diverged)])
  }

  @Test func `a press is found by its number and its boot`() {
    var journal = OutboxJournal()
    journal.mark(Self.pending(3), [])
    #expect(!journal.isDurable(press: 3, in: 9))
    #expect(journal.isDurable(press: 4, in: 9))
    #expect(journal.isDurable(press: 3, in: 8))
    _ = Self.commit(&journal)
    #expect(!journal.isDurable(press: 3, in: 9))
    #expect(journal.isDurable(press: 4, in: 9))
    #expect(journal.isDurable(press: 3, in: 8))
    #expect(journal.pressesInCommit == [Self.pending(3)])
  }

  @Test func `a failure loses the effects of the commit and of all marks, once`() {
    var journal = OutboxJournal()
    journal.mark(Self.number(1), then: .storeFull)
    _ = Self.commit(&journal)
    journal.markBoot(9)
    journal.mark(Self.number(2), then: .diverged)
    journal.mark(Self.number(3), then: .removed(Self.number(3)))
    #expect(
      journal.fail() == [
        .bootNoted(9), .report(.storeFull), .report(.diverged), .report(.removed(Self.number(3))),
      ])
    #expect(journal.hasFailed)
    #expect(journal.fail() == [])
    #expect(journal.confirm() == [])
    #expect(Self.commit(&journal) == nil)
  }
}
