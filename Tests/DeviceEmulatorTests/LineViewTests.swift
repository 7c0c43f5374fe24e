import NotibotProtocol
import Testing

@testable import DeviceEmulator

struct LineViewTests {
  private let frame = Frame(
    FrameHeader(
      type: .ping, direction: .fromHost, channel: .link, session: 7, sequence: 0, ack: 0, credit: 0))

  @Test func `it keeps the newest frames and lines, however many pass`() {
    var view = LineView()
    for number in 1...1000 {
      view.receive(frame.encoded(), .fromHost)
      view.receive(Array("line \(number)\r\n".utf8) + [0], .fromDevice)
    }
    #expect(view.frames.map(\.number) == Array(951...1000))
    #expect(view.frames.last?.text == "host: PING")
    #expect(view.console.map(\.number) == Array(901...1000))
    #expect(view.console.last?.text == "line 1000")
  }

  @Test func `a line without an end is cut, and shown after a silence`() {
    var view = LineView()
    view.receive(Array(repeating: UInt8(ascii: "x"), count: 100_000), .fromDevice)
    #expect(view.console.count == LineView.linesLimit)
    #expect(view.console.allSatisfy { $0.text.utf8.count == LineView.lineLimitBytes })
    view.receive([0] + Array("ab\n".utf8), .fromDevice)
    view.flush()
    #expect(view.console.last?.text.hasSuffix("ab") == true)
    #expect(!view.hasCandidate)
  }
}
