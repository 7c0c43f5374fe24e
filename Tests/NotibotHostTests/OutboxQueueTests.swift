import NotibotProtocol
import Testing

@testable import NotibotHost

/// The order of queued entries, and of the places that a search finds.
struct OutboxQueueTests {
  private static func number(_ value: Int64) -> OutboxNumber { OutboxNumber(rawValue: value) }

  private static func makeQueue(_ numbers: [Int64]) -> OutboxQueue {
    var queue = OutboxQueue()
    for value in numbers { queue.insert(number(value), level: .active) }
    return queue
  }

  /// The numbers in the order of sending.
  private static func drained(_ queue: OutboxQueue) -> [Int64] {
    var queue = queue
    var numbers: [Int64] = []
    while let first = queue.first {
      numbers.append(first.number.rawValue)
      queue.remove(first.number, level: first.level)
    }
    return numbers
  }

  @Test func `numbers leave in ascending order, in whatever order they came`() {
    var random = SeededGenerator(seed: 3)
    for count in 1...9 as ClosedRange<Int64> {
      for _ in 0..<20 {
        let numbers = Array(1...count).shuffled(using: &random)
        #expect(Self.drained(Self.makeQueue(numbers)) == Array(1...count), "\(numbers)")
      }
    }
  }

  @Test func `a number that is present is not inserted again`() {
    for value in 1...5 as ClosedRange<Int64> {
      var queue = Self.makeQueue([1, 2, 3, 4, 5])
      queue.insert(Self.number(value), level: .active)
      #expect(queue.count == 5)
      #expect(Self.drained(queue) == [1, 2, 3, 4, 5])
    }
  }

  @Test func `each number can be removed, wherever it stands`() {
    for value in 1...5 as ClosedRange<Int64> {
      var queue = Self.makeQueue([1, 2, 3, 4, 5])
      queue.remove(Self.number(value), level: .active)
      #expect(Self.drained(queue) == (1...5).filter { $0 != value })
    }
  }

  @Test func `the removal of a missing number has no effect`() {
    for value in [0, 3, 9] as [Int64] {
      var queue = Self.makeQueue([1, 2, 4, 5])
      queue.remove(Self.number(value), level: .active)
      #expect(Self.drained(queue) == [1, 2, 4, 5])
    }
  }

  @Test func `the highest level comes first, and all levels are counted`() {
    var queue = OutboxQueue()
    for (index, level) in NotificationDetails.Level.allCases.enumerated() {
      queue.insert(Self.number(Int64(index)), level: level)
    }
    #expect(queue.count == 4)
    #expect(Self.drained(queue) == [3, 2, 1, 0])
  }
}
