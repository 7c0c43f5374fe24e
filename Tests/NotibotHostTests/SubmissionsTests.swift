import NotibotProtocol
import Testing

@testable import NotibotHost

/// Which submissions wait for room, which overtake them, and that each has one result.
struct SubmissionsTests {
  private static let notification = DisplayNotification(app: "a", title: "t", text: "", timestamp: 1)

  @Test func `a submission that does not wait is answered full, and overtakes those that wait`() async {
    let add = OutboxSubmission.add(Self.notification)
    let results = await withCheckedContinuation { continuation in
      let group = SubmissionGroup(key: 1, count: 2, continuation: continuation)
      var waiting = Submissions()
      waiting.append(Submissions.Item(request: SubmissionRequest(add, token: 1), group: group))
      _ = waiting.next()
      let isReported1 = waiting.finish(1, .failure(.full(limit: 1)))
      #expect(!isReported1)
      let hurried = SubmissionRequest(add, token: 2, whenFull: .reject)
      waiting.append(Submissions.Item(request: hurried, group: group))
      let seen = Self.drainTokens(&waiting)
      #expect(seen == [2])
      let isReported2 = waiting.finish(2, .failure(.full(limit: 1)))
      #expect(isReported2)
      waiting.handleRoom()
      let later = Self.drainTokens(&waiting)
      #expect(later == [1])
      _ = waiting.finish(1, .success(.init(number: 5)))
    }
    #expect(results == [2: .failure(.full(limit: 1)), 1: .success(.init(number: 5))])
  }

  /// Submits all at once, lets `body` play the outbox, and returns the results by token.
  private func results(
    of submissions: [OutboxSubmission], _ body: (inout Submissions) -> Void
  ) async -> [UInt64: SubmissionGroup.Result] {
    await withCheckedContinuation { continuation in
      let group = SubmissionGroup(key: 1, count: submissions.count, continuation: continuation)
      var waiting = Submissions()
      for (index, submission) in submissions.enumerated() {
        waiting.append(
          Submissions.Item(request: SubmissionRequest(submission, token: UInt64(index)), group: group))
      }
      body(&waiting)
    }
  }

  private static func drainTokens(_ submissions: inout Submissions) -> [UInt64] {
    var tokens: [UInt64] = []
    while let item = submissions.next() { tokens.append(item.request.token) }
    return tokens
  }

  @Test func `they are passed on in order, and each caller gets each result`() async {
    let add = OutboxSubmission.add(Self.notification)
    let results = await results(of: [add, add, add]) { submissions in
      let seen1 = Self.drainTokens(&submissions)
      #expect(seen1 == [0, 1, 2])
      let seen2 = submissions.finish(0, .success(.init(number: 10)))
      #expect(seen2)
      let seen3 = submissions.finish(1, .failure(.journalFailed))
      #expect(seen3)
      let seen4 = submissions.finish(2, .success(.init(number: 12)))
      #expect(seen4)
    }
    #expect(
      results == [
        0: .success(.init(number: 10)), 1: .failure(.journalFailed), 2: .success(.init(number: 12)),
      ])
  }

  @Test func `submissions without room are retried in order, and a removal overtakes them`() async {
    let add = OutboxSubmission.add(Self.notification)
    let remove = OutboxSubmission.remove(OutboxNumber(rawValue: 1))
    _ = await results(of: [add, add, remove, add]) { submissions in
      let seen5 = submissions.next()?.request.token
      #expect(seen5 == 0)
      let seen6 = submissions.next()?.request.token
      #expect(seen6 == 1)
      let seen7 = submissions.finish(0, .failure(.full(limit: 1)))
      #expect(!seen7)
      let seen8 = submissions.finish(1, .failure(.full(limit: 1)))
      #expect(!seen8)
      let seen9 = Self.drainTokens(&submissions)
      #expect(seen9 == [2])
      submissions.handleRoom()
      let seen10 = Self.drainTokens(&submissions)
      #expect(seen10 == [0, 1, 3])
      for token in 0..<4 {
        let isReported = submissions.finish(UInt64(token), .success(.init(number: 1)))
        #expect(isReported)
      }
    }
  }

  @Test func `a cancelled group ends at once, except for submissions in the outbox`() async {
    let add = OutboxSubmission.add(Self.notification)
    let results = await results(of: [add, add]) { submissions in
      let seen11 = submissions.next()?.request.token
      #expect(seen11 == 0)
      let seen12 = submissions.cancel(2)
      #expect(seen12 == [])
      let seen13 = submissions.cancel(1)
      #expect(seen13 == [1])
      let seen14 = submissions.finish(0, .success(.init(number: 7)))
      #expect(seen14)
    }
    #expect(results == [0: .success(.init(number: 7)), 1: .failure(.stopped)])
  }

  @Test func `at the end all callers get a result, including those in the outbox`() async {
    let add = OutboxSubmission.add(Self.notification)
    let results = await results(of: [add, add]) { submissions in
      let seen15 = submissions.next()?.request.token
      #expect(seen15 == 0)
      let seen16 = submissions.failAll(.stopped)
      #expect(seen16 == [0, 1])
    }
    #expect(results == [0: .failure(.stopped), 1: .failure(.stopped)])
  }
}
