import DequeModule
import NotibotProtocol

/// Entries queued for sending: the highest level first, then the lowest number.
struct OutboxQueue: Equatable, Sendable {
  typealias Level = NotificationDetails.Level

  /// One queue per level, each in the order of the numbers.
  private var numbers = [Deque<OutboxNumber>](repeating: [], count: Level.allCases.count)

  /// The next one to be sent.
  var first: (number: OutboxNumber, level: Level)? {
    for level in Level.allCases.reversed() {
      if let number = numbers[Int(level.rawValue)].first { return (number, level) }
    }
    return nil
  }

  /// Inserts a number in order; has no effect if it is present.
  mutating func insert(_ number: OutboxNumber, level: Level) {
    let index = Int(level.rawValue)
    let place = place(of: number, in: numbers[index])
    guard place == numbers[index].count || numbers[index][place] != number else { return }
    numbers[index].insert(number, at: place)
  }

  /// Removes a number, if it is present.
  mutating func remove(_ number: OutboxNumber, level: Level) {
    let index = Int(level.rawValue)
    let place = place(of: number, in: numbers[index])
    guard place < numbers[index].count, numbers[index][place] == number else { return }
    numbers[index].remove(at: place)
  }

  /// How many there are of all levels.
  var count: Int { numbers.reduce(0) { $0 + $1.count } }

  /// The index of the first number that is not below `number`.
  private func place(of number: OutboxNumber, in sorted: Deque<OutboxNumber>) -> Int {
    // Most are appended: numbers ascend.
    guard let last = sorted.last, number <= last else { return sorted.count }
    var low = 0
    var high = sorted.count
    while low < high {
      let middle = (low + high) / 2
      if sorted[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
