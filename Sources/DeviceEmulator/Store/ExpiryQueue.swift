/// When the shown notifications expire, the soonest last. At most one entry per notification.
struct ExpiryQueue: Equatable, Sendable {
  struct Entry: Comparable, Sendable {
    /// Seconds since 1970-01-01 UTC.
    var expires: UInt32
    var item: Int

    static func < (left: Entry, right: Entry) -> Bool {
      (left.expires, left.item) < (right.expires, right.item)
    }
  }

  private var entries: [Entry] = []

  var soonest: Entry? { entries.last }

  mutating func insert(_ entry: Entry) {
    entries.insert(entry, at: position(of: entry))
  }

  mutating func remove(_ entry: Entry) {
    let position = position(of: entry)
    if position < entries.count, entries[position] == entry { entries.remove(at: position) }
  }

  /// The first index at which no entry is later than `entry`.
  private func position(of entry: Entry) -> Int {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle] > entry { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
