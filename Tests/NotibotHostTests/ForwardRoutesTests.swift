import NotibotHost
import Testing

@Suite struct ForwardRoutesTests {
  /// Routes of an outbox for 100 000 notifications, with the results of one client.
  private struct Desk {
    var routes = ForwardRoutes(entriesLimit: 100_000)
    let results: AsyncStream<[UInt8]>

    init() {
      let (results, sink) = AsyncStream<[UInt8]>.makeStream()
      self.results = results
      routes.attach(1, sink, ForwardPace())
    }

    mutating func queue(_ number: Int64, for client: Int = 1) {
      routes.recordSubmission(of: client)
      routes.recordQueued(number, of: client)
    }

    /// Sends a result to its clients, and returns them.
    mutating func report(_ report: ForwardingReport, of number: Int64) -> [Int] {
      let clients = routes.clients(of: number)
      for client in clients { routes.send([0x0A], to: client) }
      routes.record(report, of: number)
      return clients
    }
  }

  @Test func `a client gets the results of as many notifications as the outbox holds, and is done`() async {
    var desk = Desk()
    for number in 1...100_000 as ClosedRange<Int64> { desk.queue(number) }
    desk.routes.handleEnd(of: 1)
    let received = (1...100_000).count { desk.report(.delivered($0), of: $0) == [1] }
    #expect(received == 100_000)
    var count = 0
    for await _ in desk.results { count += 1 }
    #expect(count == 100_000)
    // What can still happen to them comes as well.
    #expect((1...100_000).allSatisfy { desk.routes.clients(of: $0) == [1] })
  }

  @Test func `repetitions and delivered ones make room for those that are waited for`() {
    var desk = Desk()
    desk.queue(1)
    for number in 2...80_000 as ClosedRange<Int64> {
      desk.queue(number)
      _ = desk.report(.delivered(number), of: number)
    }
    for number in 100_000...300_000 as ClosedRange<Int64> { desk.routes.recordDuplicate(number, of: 1) }
    #expect(desk.routes.clients(of: 1) == [1])
    #expect((2...80_000).allSatisfy { desk.routes.clients(of: $0) == [1] })
    #expect(desk.routes.clients(of: 100_000) == [])
    #expect(desk.routes.clients(of: 300_000) == [1])
  }

  @Test func `a client whose notification another one changes gets its result, and is done`() async {
    var desk = Desk()
    let (_, other) = AsyncStream<[UInt8]>.makeStream()
    desk.routes.attach(2, other, ForwardPace())
    desk.queue(1)
    desk.routes.handleEnd(of: 1)
    desk.queue(1, for: 2)
    #expect(desk.report(.removed(1), of: 1) == [2, 1])
    var count = 0
    for await _ in desk.results { count += 1 }
    #expect(count == 1)
    #expect(desk.routes.clients(of: 1) == [])
  }

  @Test func `a client that did not read its results is reported once`() {
    var routes = ForwardRoutes(entriesLimit: 10)
    let (results, sink) = AsyncStream<[UInt8]>.makeStream(bufferingPolicy: .bufferingOldest(1))
    routes.attach(1, sink, ForwardPace())
    withExtendedLifetime(results) {
      for _ in 1...2 { routes.send([0x0A], to: 1) }
    }
    let answers = [routes.hasLostResults(1), routes.hasLostResults(1)]
    #expect(answers == [true, false])
  }
}
