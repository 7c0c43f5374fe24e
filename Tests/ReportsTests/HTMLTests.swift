import SerialLink
import Testing

@testable import Reports

/// The builder of pages.
@Suite struct HTMLTests {
  private func shown(_ text: String) -> String {
    String(text.printable.map { "\u{FFFE}\u{FFFF}".contains($0) ? "\u{FFFD}" : $0 })
  }

  @Test(arguments: HostileText.corpus)
  func `text is the content of its element and nothing else`(text: String) throws {
    let cell = HTML.element(.td, [.tooltip(text), .label(text), .id(text), .link(toID: text)], text)
    let reader = try PageReader(fragment: cell.source)
    #expect(reader.elements == ["td": 1])
    #expect(reader.attributes == ["title", "aria-label", "id", "href"])
    #expect(reader.values.filter { $0 == shown(text) }.count >= 2)
    #expect(reader.text == shown(text))
    #expect(cell.source.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) })
  }

  @Test(arguments: HostileText.corpus)
  func `a title is text`(text: String) {
    let document = HTML.document(title: text, style: "", body: [.element(.p, [], text)])
    #expect(document.split(separator: "<script").count == 1)
    #expect(document.split(separator: "</title>").count == 2)
    #expect(document.split(separator: "<img").count == 1)
  }

  @Test func `numbers that are not finite are no attribute values`() {
    for value in [Double.nan, .infinity, -.infinity, 1e300] {
      #expect(HTML.element(.rect, [.number(.x, value)]).source == "<rect x=\"0\"></rect>")
    }
    #expect(HTML.element(.rect, [.number(.x, 1.25)]).source == "<rect x=\"1.3\"></rect>")
  }

  @Test func `a diagram draws each step, and text of the wire is text`() throws {
    let lines = [
      "(3 earlier steps not shown)", "0.001000 > SYN", "0.002000 < text \"\(HostileText.whole)\"",
      "0.003000 ! no answer",
    ]
    let steps = lines.map(WireStep.init)
    #expect(steps.map(\.origin) == [.remark, .bench, .peer, .remark])
    #expect(steps[1] == WireStep("0.001000 > SYN") && steps[1].time == "0.001000" && steps[1].text == "SYN")
    let reader = try PageReader(fragment: SequenceDiagram.figure(steps, peer: "device").source)
    #expect(
      Set(reader.elements.keys) == ["figure", "figcaption", "svg", "g", "line", "polyline", "text", "title"])
    #expect(reader.text.contains("SYN") && reader.text.contains("no answer"))
  }

  @Test func `charts of hostile numbers are charts`() throws {
    let buckets = [
      Bucket(from: .nan, to: .infinity, count: 3), Bucket(from: 1, to: 2, count: .max),
      Bucket(from: 0, to: 0, count: 0),
    ]
    _ = try PageReader(fragment: Chart.histogram(buckets, unit: "ms", caption: "c").source)
    let curve = Chart.curves([[(0, .nan), (1, 2), (2, .infinity), (3, 4)]], unit: "/s", caption: "c")
    #expect(try PageReader(fragment: curve.source).elements["polyline"] == 1)
    #expect(
      Chart.histogram([], unit: "", caption: "") == .empty
        && Chart.curves([], unit: "", caption: "") == .empty)
  }
}
