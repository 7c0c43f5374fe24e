/// How many pushes a device token gets: a bucket that fills at a steady rate.
struct RateLimits: Hashable, Sendable {
  private struct Bucket: Hashable {
    /// In thousandths of a push.
    var level: Int64
    var at: WallTime
  }

  /// Buckets kept, at most; then the less recently used half is forgotten: those tokens have a full
  /// one again.
  private let limit: Int
  /// 0: no limit.
  var perMinute: Int64
  var burst: Int64
  private var buckets: [[UInt8]: Bucket] = [:]

  init(perMinute: Int64, burst: Int64, limit: Int) {
    self.limit = limit
    self.perMinute = perMinute
    self.burst = burst
  }

  /// Takes one push out of a token's bucket; false when it is empty.
  mutating func acquire(_ token: [UInt8], now: WallTime) -> Bool {
    guard perMinute > 0 else { return true }
    var bucket = buckets[token] ?? Bucket(level: burst * 1000, at: now)
    let elapsed = min(now.milliseconds - bucket.at.milliseconds, 86_400_000)
    bucket.level = min(burst * 1000, bucket.level + elapsed * perMinute / 60)
    bucket.at = now
    let isAllowed = bucket.level >= 1000
    if isAllowed { bucket.level -= 1000 }
    if buckets.count >= limit, buckets[token] == nil {
      let middle = buckets.values.map(\.at).sorted()[limit / 2]
      buckets = buckets.filter { $0.value.at > middle }
    }
    buckets[token] = bucket
    return isAllowed
  }
}
