import NotibotProtocol

/// The times at which queued notifications expire, the soonest first: a binary heap.
///
/// A notification that leaves the queue stays in it until its turn, or until such remains are the
/// larger part.
struct OutboxExpiries: Equatable, Sendable {
  /// A time and its notification.
  struct Item: Hashable, Comparable, Sendable {
    /// Seconds since 1970-01-01 UTC.
    var expires: UInt32
    var number: OutboxNumber

    static func < (left: Item, right: Item) -> Bool {
      (left.expires, left.number) < (right.expires, right.number)
    }
  }

  /// Remains that are not worth a cleaning.
  private static let remainsLimit = 64

  private var heap: [Item] = []

  /// The soonest.
  var first: Item? { heap.first }

  /// Whether so many notifications that are queued are less than half of the content.
  func needsCleaning(queuedCount: Int) -> Bool { heap.count > 2 * queuedCount + Self.remainsLimit }

  mutating func insert(_ item: Item) {
    heap.append(item)
    var index = heap.count - 1
    while index > 0, heap[index] < heap[(index - 1) / 2] {
      heap.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  /// Removes the soonest.
  mutating func removeFirst() {
    guard let last = heap.popLast(), !heap.isEmpty else { return }
    heap[0] = last
    var index = 0
    while let child = smallestChild(of: index), heap[child] < heap[index] {
      heap.swapAt(child, index)
      index = child
    }
  }

  /// Keeps those that fulfil the condition.
  mutating func clean(keeping isQueued: (Item) -> Bool) {
    let kept = Set(heap.filter(isQueued))
    // A sorted array is a heap.
    heap = kept.sorted()
  }

  private func smallestChild(of index: Int) -> Int? {
    let left = 2 * index + 1
    guard left < heap.count else { return nil }
    return left + 1 < heap.count && heap[left + 1] < heap[left] ? left + 1 : left
  }
}
