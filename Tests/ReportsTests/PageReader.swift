import Foundation
import FoundationXML

/// Reads a page strictly, as XML: what is between `<body>` and `</body>` has no form that only HTML
/// knows.
final class PageReader: NSObject, XMLParserDelegate {
  private(set) var elements: [String: Int] = [:]
  private(set) var attributes: Set<String> = []
  private(set) var values: [String] = []
  private(set) var text = ""
  private(set) var ids: Set<String> = []
  /// The ids that links lead to.
  private(set) var links: Set<String> = []

  init(document: String) throws {
    super.init()
    guard let start = document.range(of: "<body>"),
      let end = document.range(of: "</body>", options: .backwards)
    else { throw CocoaError(.fileReadCorruptFile) }
    try parse(String(document[start.lowerBound..<end.upperBound]))
  }

  init(fragment: String) throws {
    super.init()
    try parse(fragment)
  }

  private func parse(_ xml: String) throws {
    let parser = XMLParser(data: Data(xml.utf8))
    parser.delegate = self
    guard parser.parse() else { throw parser.parserError ?? CocoaError(.fileReadCorruptFile) }
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    elements[name, default: 0] += 1
    self.attributes.formUnion(attributes.keys)
    values += attributes.values
    if let id = attributes["id"] { ids.insert(id) }
    if let link = attributes["href"] { links.insert(String(link.dropFirst())) }
  }

  func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }
}
