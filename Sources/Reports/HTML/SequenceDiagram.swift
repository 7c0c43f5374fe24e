/// The wire around a failure: two lanes, an arrow per frame, remarks between them.
enum SequenceDiagram {
  /// Steps drawn; the first ones are left out.
  static let stepsLimit = 60
  /// Characters of a step's text; the whole text is its tooltip and in the JSON report.
  static let textLimit = 130

  private static let width = 1080.0
  private static let leftLane = 80.0
  private static let rightLane = 1060.0
  private static let rowHeight = 30.0

  static func figure(_ steps: [WireStep], peer: String) -> HTML {
    let shown = Array(steps.suffix(stepsLimit))
    guard !shown.isEmpty else { return .empty }
    let height = rowHeight * Double(shown.count + 1) + 12
    var parts = [
      label("suite", x: leftLane, y: 14, .middle), label(peer, x: rightLane, y: 14, .end),
      lane(leftLane, height),
      lane(rightLane, height),
    ]
    for (index, step) in shown.enumerated() {
      parts.append(row(step, y: rowHeight * Double(index + 1) + 22))
    }
    let omitted = steps.count - shown.count
    let caption = "The wire before the failure" + (omitted > 0 ? "; \(omitted) earlier steps not drawn" : "")
    return .element(
      .figure, [],
      [
        .element(.figcaption, [], caption),
        .element(
          .svg,
          [
            .classes(.wire), .image, .label(caption), .viewBox(width: width, height: height),
            .number(.width, width), .number(.height, height),
          ], parts),
      ])
  }

  private static func row(_ step: WireStep, y: Double) -> HTML {
    var parts: [HTML] = []
    if let time = step.time { parts.append(label(time, x: 4, y: y + 4, .start)) }
    let text = clipped(step.text)
    switch step.origin {
    case .bench:
      parts.append(arrow(from: leftLane, to: rightLane, y: y, .fromBench))
      parts.append(label(text, x: leftLane + 14, y: y - 5, .start))
    case .peer:
      parts.append(arrow(from: rightLane, to: leftLane, y: y, .fromPeer))
      parts.append(label(text, x: leftLane + 14, y: y - 5, .start))
    case .remark:
      parts.append(
        .element(
          .label, [.classes(.remark), .number(.x, leftLane + 14), .number(.y, y), .anchor(.start)], text))
    }
    if text != step.text { parts.append(.element(.title, [], step.text)) }
    return .element(.g, [], parts)
  }

  private static func arrow(from start: Double, to end: Double, y: Double, _ kind: HTML.StaticClasses) -> HTML
  {
    let back = start < end ? -7.0 : 7.0
    return .element(
      .g, [.classes(kind)],
      [
        .element(
          .line, [.number(.x1, start), .number(.y1, y), .number(.x2, end), .number(.y2, y)]),
        .element(.polyline, [.points([(end + back, y - 4), (end, y), (end + back, y + 4)])]),
      ])
  }

  private static func lane(_ x: Double, _ height: Double) -> HTML {
    .element(
      .line,
      [.classes(.lane), .number(.x1, x), .number(.y1, 20), .number(.x2, x), .number(.y2, height)])
  }

  private static func label(_ text: String, x: Double, y: Double, _ anchor: HTML.Attribute.Anchor) -> HTML {
    .element(.label, [.number(.x, x), .number(.y, y), .anchor(anchor)], text)
  }

  private static func clipped(_ text: String) -> String {
    let shown = text.prefix(textLimit)
    return shown.endIndex == text.endIndex ? text : "\(shown)…"
  }
}
