import Foundation

/// Charts as inline SVG. Each has its figures in words as well, for readers without pictures.
enum Chart {
  private static let width = 1150.0
  private static let height = 200.0
  private static let left = 64.0
  private static let bottom = 26.0
  private static let top = 10.0

  /// A histogram whose bars have equal widths, whatever the widths of their ranges.
  static func histogram(_ buckets: [Bucket], unit: String, caption: String) -> HTML {
    guard let most = buckets.map(\.count).max(), most > 0 else { return .empty }
    let step = (width - left) / Double(buckets.count)
    let room = height - bottom - top
    var parts = axis()
    for (index, bucket) in buckets.enumerated() where bucket.count > 0 {
      // A rare value must be visible next to a common one.
      let size = max(1.5, room * Double(bucket.count) / Double(most))
      parts.append(
        .element(
          .rect,
          [
            .classes(.bar), .number(.x, left + Double(index) * step), .number(.y, height - bottom - size),
            .number(.width, max(1, step - 1)), .number(.height, size),
          ],
          [.element(.title, [], "\(bucket.count): \(short(bucket.from)) to \(short(bucket.to)) \(unit)")]))
    }
    parts.append(text("\(most)", x: left - 6, y: top + 10, .end))
    parts.append(text(short(buckets[0].from), x: left, y: height - 8, .start))
    let middle = buckets[buckets.count / 2]
    parts.append(text(short(middle.from), x: left + step * Double(buckets.count / 2), y: height - 8, .middle))
    parts.append(text("\(short(buckets[buckets.count - 1].to)) \(unit)", x: width, y: height - 8, .end))
    return figure(parts, caption)
  }

  /// One or two curves over the time of a run.
  ///
  /// - Parameter marks: moments that are marked with a line, in seconds.
  static func curves(
    _ curves: [[(x: Double, y: Double)]], unit: String, caption: String, marks: [Double] = []
  ) -> HTML {
    let points = curves.flatMap { $0 }.filter { $0.x.isFinite && $0.y.isFinite }
    guard points.count > 1, let last = points.map(\.x).max(), last > 0 else { return .empty }
    let most = max(points.map(\.y).max() ?? 0, .leastNonzeroMagnitude)
    // Room for the label of the axis.
    let highest = most * 1.15
    let room = height - bottom - top
    var parts = axis()
    for (index, curve) in curves.prefix(2).enumerated() {
      let places = curve.filter { $0.x.isFinite && $0.y.isFinite }.map { point in
        (x: left + (width - left) * point.x / last, y: height - bottom - room * max(0, point.y) / highest)
      }
      parts.append(.element(.polyline, [.classes(index == 0 ? .line1 : .line2), .points(places)]))
    }
    for mark in marks where (0...last).contains(mark) {
      let x = left + (width - left) * mark / last
      parts.append(
        .element(
          .line,
          [
            .classes(.lane), .number(.x1, x), .number(.y1, top), .number(.x2, x),
            .number(.y2, height - bottom),
          ]
        ))
    }
    parts.append(text("highest \(short(most)) \(unit)", x: left + 4, y: top + 8, .start))
    for share in [0, 0.5, 1] {
      let y = height - bottom - room * share * most / highest
      parts.append(text(short(most * share), x: left - 6, y: y + 4, .end))
    }
    for share in [0, 0.25, 0.5, 0.75, 1] {
      let anchor: HTML.Attribute.Anchor = share == 0 ? .start : share == 1 ? .end : .middle
      parts.append(
        text("\(short(last * share)) s", x: left + (width - left) * share, y: height - 8, anchor))
    }
    return figure(parts, caption)
  }

  private static func axis() -> [HTML] {
    let floor = height - bottom
    return [
      .element(
        .line,
        [
          .classes(.axis), .number(.x1, left), .number(.y1, floor), .number(.x2, width), .number(.y2, floor),
        ]),
      .element(
        .line,
        [.classes(.axis), .number(.x1, left), .number(.y1, top), .number(.x2, left), .number(.y2, floor)]),
    ]
  }

  private static func text(_ text: String, x: Double, y: Double, _ anchor: HTML.Attribute.Anchor) -> HTML {
    .element(.label, [.number(.x, x), .number(.y, y), .anchor(anchor)], text)
  }

  private static func figure(_ parts: [HTML], _ caption: String) -> HTML {
    .element(
      .figure, [],
      [
        .element(.figcaption, [], caption),
        .element(
          .svg,
          [
            .classes(.chart), .image, .label(caption), .viewBox(width: width, height: height),
            .number(.width, width), .number(.height, height),
          ], parts),
      ])
  }

  /// A number in at most four digits, or with a unit prefix.
  static func short(_ value: Double) -> String {
    guard value.isFinite else { return "?" }
    switch abs(value) {
    case 1e6...: return String(format: "%.3gM", value / 1e6)
    case 1e4...: return String(format: "%.3gk", value / 1e3)
    case 100...: return String(format: "%.0f", value)
    case 10...: return String(format: "%.1f", value)
    case 0: return "0"
    case _: return String(format: "%.3g", value)
    }
  }
}
