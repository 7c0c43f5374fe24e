import NotibotHost
import Testing

/// Which events of a port's channel count.
struct PortAttemptsTests {
  @Test func `the end of a channel that was never attached does not invalidate its attempt`() {
    var line = PortAttempts<String>()
    let attempt = line.begin()
    let end = line.end(attempt)
    #expect(!end && line.isOpening)
    let failure = line.fail(attempt)
    #expect(failure && !line.isOpening)
  }

  @Test func `a channel that opens after it was given up is to be closed`() {
    var line = PortAttempts<String>()
    let late = line.begin()
    let port = line.close()
    let isEarly = line.attach("late", late)
    let next = line.begin()
    let changes = [isEarly, line.attach("late", late), line.fail(late), line.end(late)]
    #expect(port == nil && changes == [false, false, false, false])
    let isAttached = line.attach("next", next)
    #expect(isAttached && line.isOpen(next) && !line.isOpen(late))
  }

  @Test func `an open port ends once, and a result after it opened changes nothing`() {
    var line = PortAttempts<String>()
    let attempt = line.begin()
    let isAttached = line.attach("port", attempt)
    let isFailed = line.fail(attempt)
    #expect(isAttached && !isFailed && line.port == "port")
    let ends = [line.end(attempt), line.end(attempt)]
    #expect(ends == [true, false] && line.port == nil)
  }
}
