import Foundation
import Histogram
import Reports

/// A histogram as the bars of a report.
enum Buckets {
  /// Bars from the smallest to the largest value.
  static let barsLimit = 60

  /// Ranges of equal width on a logarithmic scale.
  ///
  /// - Parameter unitsPerValue: units of the histogram in one of the result.
  static func logarithmic(_ histogram: Histogram<UInt64>, unitsPerValue: Double) -> [Bucket] {
    guard histogram.totalCount > 0 else { return [] }
    let (low, high) = (max(1, histogram.min), max(2, histogram.maxRecorded))
    let ratio = pow(Double(high + 1) / Double(low), 1 / Double(barsLimit))
    var buckets: [Bucket] = []
    var from = low
    for bar in 1...barsLimit {
      let to = bar == barsLimit ? high + 1 : max(from, UInt64(Double(low) * pow(ratio, Double(bar))))
      guard to > from else { continue }
      buckets.append(Bucket(from: Double(from) / unitsPerValue, to: Double(to) / unitsPerValue, count: 0))
      from = to
    }
    // Values ascend, and each is counted once; ranges of the histogram itself can be wider than a
    // bar.
    var index = 0
    for value in histogram.recordedValues() {
      while index < buckets.count - 1, Double(value.value) / unitsPerValue >= buckets[index].to { index += 1 }
      buckets[index].count += Int(clamping: value.count)
    }
    return buckets
  }
}
