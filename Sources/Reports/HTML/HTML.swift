import SerialLink

/// A fragment of a page. Text enters it only through `text` and attribute values, and both escape
/// it; names of elements and attributes are enums. So text of a device cannot become mark-up: there
/// is no way to write that down.
package struct HTML: Equatable, Sendable {
  /// Elements that a report uses. Neither a script nor anything that loads a file is among them.
  package enum Element: String, Sendable {
    case article, code, dd, details, dl, dt, figcaption, figure, h1, h2, h3, header, li, main, p, section
    case span, summary, table, tbody, td, th, thead, tr, ul, a
    case svg, g, line, rect, polyline, title
    case label = "text"
  }

  /// An attribute; its value is escaped when it becomes part of an element.
  package enum Attribute: Equatable, Sendable {
    case id(String)
    case classes(StaticClasses)
    case tooltip(String)
    case label(String)
    /// A link to an element of the same page.
    case link(toID: String)
    case scope(Scope)
    case number(Geometry, Double)
    case viewBox(width: Double, height: Double)
    case points([(x: Double, y: Double)])
    case anchor(Anchor)
    case image

    package enum Scope: String, Sendable { case row, col }
    package enum Anchor: String, Sendable { case start, middle, end }
    package enum Geometry: String, Sendable { case x, y, x1, y1, x2, y2, width, height }

    package static func == (left: Attribute, right: Attribute) -> Bool { left.source == right.source }
  }

  /// Classes of the style sheet: words of this program, never of a device.
  package enum StaticClasses: String, Sendable {
    case passed, failed, errored, differs, skipped, verdict, matrix, facts, number, muted, wire, chart, bar,
      axis
    case line1, line2, better, worse, same, finding, rule, identifier, fromBench, fromPeer, remark, lane
  }

  /// Characters of a text or an attribute, at most; the JSON has them all.
  static let textLimit = 2000

  /// The fragment as it stands in a document.
  private(set) package var source: String

  private init(source: String) { self.source = source }

  /// Nothing.
  package static let empty = HTML(source: "")

  /// Text from anywhere: controls made visible, mark-up escaped.
  package static func text(_ text: String) -> HTML { HTML(source: escaped(text)) }

  /// An element with its children in order.
  package static func element(
    _ element: Element, _ attributes: [Attribute] = [], _ children: [HTML] = []
  ) -> HTML {
    let marks = attributes.map { " \($0.source)" }.joined()
    return HTML(
      source: "<\(element.rawValue)\(marks)>" + children.map(\.source).joined() + "</\(element.rawValue)>")
  }

  /// An element with a text in it.
  package static func element(_ element: Element, _ attributes: [Attribute] = [], _ text: String) -> HTML {
    .element(element, attributes, [.text(text)])
  }

  /// Fragments in order.
  package static func all(_ parts: [HTML]) -> HTML { HTML(source: parts.map(\.source).joined()) }

  /// A whole document without scripts and without anything from elsewhere; a policy in it forbids
  /// both, in case that this program has a fault.
  package static func document(title: String, style: StaticString, body: [HTML]) -> String {
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="referrer" content="no-referrer">
    <link rel="icon" href="data:,">
    <title>\(escaped(title))</title>
    <style>\(style)</style>
    </head>
    <body>
    \(body.map(\.source).joined(separator: "\n"))
    </body>
    </html>

    """
  }

  /// Text in which no character has a meaning in HTML, in an element as well as in a quoted value.
  fileprivate static func escaped(_ text: String) -> String {
    let shown = text.unicodeScalars.prefix(textLimit)
    var result = ""
    for scalar in String(shown).printable.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      // Not characters; XML does not allow them.
      case "\u{FFFE}", "\u{FFFF}": result += "\u{FFFD}"
      case _: result.unicodeScalars.append(scalar)
      }
    }
    return shown.endIndex == text.unicodeScalars.endIndex ? result : result + "…"
  }
}

extension HTML.Attribute {
  fileprivate var source: String {
    switch self {
    case .id(let id): "id=\"\(HTML.escaped(Self.fragment(id)))\""
    case .classes(let name): "class=\"\(name.rawValue)\""
    case .tooltip(let text): "title=\"\(HTML.escaped(text))\""
    case .label(let text): "aria-label=\"\(HTML.escaped(text))\""
    case .link(let id): "href=\"#\(HTML.escaped(Self.fragment(id)))\""
    case .scope(let scope): "scope=\"\(scope.rawValue)\""
    case .number(let name, let value): "\(name.rawValue)=\"\(Self.digits(value))\""
    case .viewBox(let width, let height): "viewBox=\"0 0 \(Self.digits(width)) \(Self.digits(height))\""
    case .points(let points):
      "points=\"\(points.map { "\(Self.digits($0.x)),\(Self.digits($0.y))" }.joined(separator: " "))\""
    case .anchor(let anchor): "text-anchor=\"\(anchor.rawValue)\""
    case .image: "role=\"img\""
    }
  }

  /// An id of letters, digits and dashes; others are replaced, so that a link needs no encoding.
  private static func fragment(_ id: String) -> String {
    String(id.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
  }

  /// A number with at most one decimal; 0 for a value that is not finite.
  private static func digits(_ value: Double) -> String {
    guard value.isFinite, abs(value) < 1e9 else { return "0" }
    let tenths = Int((value * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(Double(tenths) / 10)"
  }
}
