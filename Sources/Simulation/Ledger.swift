package import NotibotHost
package import NotibotProtocol

/// The submissions to the outboxes and their reports: everything that an outside observer can know.
/// No machine is queried.
package struct Ledger: Equatable, Sendable {
  /// The state of one request to an outbox.
  package enum Fate: Equatable, Sendable {
    case pending
    /// Reported as queued: durable.
    case confirmed
    case rejected
    /// The host's life ended before the report: it can be durable or not.
    case unknown
  }

  /// How a notification ended.
  package enum Ending: Equatable, Sendable {
    case gone
    case removed
    case refused
    /// To a device without identities: reported as an unknown outcome.
    case outcomeUnknown
    /// Reported as expired before the device had it.
    case expired
  }

  /// A content of a notification.
  package struct Version: Equatable, Sendable {
    package let content: Int
    package var fate = Fate.pending
  }

  /// A notification from its submitter's point of view.
  package struct Submission: Equatable, Sendable {
    package let host: Int
    /// The first is that of the submission, the others are updates.
    package var versions: [Version]
    package var removals: [Fate] = []
    package var number: OutboxNumber?
    package var ending: Ending?
    package var deliveredCount = 0
    /// Contents that the display has shown.
    package var shown: Set<Int> = []
    /// Whether it left the display without its writer. If the host receives that and is killed
    /// before it reports it, nobody will: a report is made once or not at all.
    package var hasLeft = false
    /// Whether a host ended before it answered a request to add it: it can be durable.
    package var mayBeDurable = false
    /// Whether its journal was lost, restored or copied after it was submitted: the guarantees for
    /// it are weaker.
    package var isOfOldJournal = false

    package var fate: Fate { versions[0].fate }
  }

  /// A request to an outbox.
  package enum Request: Equatable, Sendable {
    case add(submission: Int)
    /// The same with the same key.
    case again(submission: Int)
    case update(submission: Int, version: Int)
    case remove(submission: Int, removal: Int)
  }

  /// The expected state of the display for a submission.
  package enum Expectation: Equatable, Sendable {
    case absent
    /// One of these contents.
    case present([Int])
    /// One of these contents, or nothing.
    case either([Int])
  }

  package private(set) var submissions: [Submission] = []
  /// The submission that a content belongs to.
  package private(set) var submissionOfContent: [Int: Int] = [:]
  /// Unanswered requests to a host.
  package private(set) var open: [UInt64: (request: Request, host: Int)] = [:]
  package internal(set) var presses = PressLedger()
  private var requestsCount: UInt64 = 0
  /// For each host, the submission with a number in its journal.
  private var numbers: [[OutboxNumber: Int]]
  /// For each host, numbers that it reported about and never returned: submissions whose
  /// confirmation was lost with it.
  private var strangers: [Set<OutboxNumber>]
  private var strangersLimit: [Int]
  /// For each host, how those of them ended: a client can learn the number later.
  private var strangersEndings: [[OutboxNumber: Ending]]

  package init(hostsCount: Int) {
    numbers = Array(repeating: [:], count: hostsCount)
    strangers = Array(repeating: [], count: hostsCount)
    strangersLimit = Array(repeating: 0, count: hostsCount)
    strangersEndings = Array(repeating: [:], count: hostsCount)
  }

  package static func == (left: Ledger, right: Ledger) -> Bool {
    left.submissions == right.submissions && left.numbers == right.numbers
      && left.strangers == right.strangers
  }
}

// MARK: Submissions

extension Ledger {
  /// Notes a new submission to a host, and returns its token.
  package mutating func add(content: Int, host: Int) -> UInt64 {
    submissions.append(Submission(host: host, versions: [Version(content: content)]))
    submissionOfContent[content] = submissions.count - 1
    return open(.add(submission: submissions.count - 1), host: host)
  }

  /// Notes a repetition of a submission with its key.
  package mutating func again(_ submission: Int) -> UInt64 {
    if submissions[submission].number == nil { submissions[submission].versions[0].fate = .pending }
    return open(.again(submission: submission), host: submissions[submission].host)
  }

  /// Notes an update of a submission that has a number.
  package mutating func update(_ submission: Int, content: Int) -> UInt64 {
    submissions[submission].versions.append(Version(content: content))
    submissionOfContent[content] = submission
    let version = submissions[submission].versions.count - 1
    return open(.update(submission: submission, version: version), host: submissions[submission].host)
  }

  /// Notes the withdrawal of a submission that has a number.
  package mutating func remove(_ submission: Int) -> UInt64 {
    submissions[submission].removals.append(.pending)
    let removal = submissions[submission].removals.count - 1
    return open(.remove(submission: submission, removal: removal), host: submissions[submission].host)
  }

  private mutating func open(_ request: Request, host: Int) -> UInt64 {
    requestsCount += 1
    open[requestsCount] = (request, host)
    return requestsCount
  }

  /// The submission of an unanswered request; -1 if there is no such request. For traces.
  package func subject(of token: UInt64) -> Int {
    switch open[token]?.request {
    case .add(let index), .again(let index), .update(let index, _), .remove(let index, _): index
    case nil: -1
    }
  }

  /// Whether an unanswered request repeats an earlier one.
  package func isRepetition(_ token: UInt64) -> Bool {
    if case .again = open[token]?.request { true } else { false }
  }

  /// The submissions of a host that have a number and have not ended as far as is known.
  package func living(host: Int) -> [Int] {
    submissions.indices.filter {
      submissions[$0].host == host && submissions[$0].number != nil && submissions[$0].ending == nil
        && !submissions[$0].isOfOldJournal
    }
  }

  /// A host's life ended: it will never answer its open requests. Returns the submissions that it
  /// was asked to add.
  package mutating func hostEnded(_ host: Int) -> [Int] {
    var unanswered: Set<Int> = []
    for (token, entry) in open where entry.host == host {
      open[token] = nil
      set(.unknown, for: entry.request)
      switch entry.request {
      case .add(let index), .again(let index):
        submissions[index].mayBeDurable = true
        unanswered.insert(index)
        strangersLimit[host] += 1
      case .update, .remove: break
      }
    }
    return unanswered.sorted()
  }

  private mutating func set(_ fate: Fate, for request: Request) {
    switch request {
    case .add(let index), .again(let index):
      guard submissions[index].number == nil else { return }
      // What an earlier life has made durable, this one's rejection does not undo.
      let isDoubtful = fate == .rejected && submissions[index].mayBeDurable
      submissions[index].versions[0].fate = isDoubtful ? .unknown : fate
    case .update(let index, let version): submissions[index].versions[version].fate = fate
    case .remove(let index, let removal): submissions[index].removals[removal] = fate
    }
  }

  /// The journal of a host was replaced: it contains numbers up to `lastNumber` of the submissions
  /// so far to `origin`, and no later ones.
  package mutating func journalChanged(host: Int, origin: Int, lastNumber: OutboxNumber) {
    for index in submissions.indices
    where submissions[index].host == host || submissions[index].host == origin {
      let isShared = submissions[index].number.map { $0 <= lastNumber } ?? true
      if submissions[index].host == host || isShared { submissions[index].isOfOldJournal = true }
    }
    numbers[host] = numbers[origin].filter { $0.key <= lastNumber }
    strangersLimit[host] = max(strangersLimit[host], strangersLimit[origin])
    strangers[host] = []
    strangersEndings[host] = [:]
  }
}

// MARK: Reports

extension Ledger {
  /// The meaning of a number at a host.
  package enum Subject: Equatable, Sendable {
    case submission(Int)
    /// A submission whose confirmation was lost with the host.
    case unconfirmed
  }

  /// Notes the answer to a request.
  /// - Parameter isDuplicate: whether it is answered as a repetition.
  package mutating func answered(
    token: UInt64, number: OutboxNumber?, isDuplicate: Bool = false, host: Int, at now: Instant
  ) throws(Violation) {
    guard let (request, requester) = open.removeValue(forKey: token), requester == host else {
      throw Violation(
        .requestEndsOnce, "host \(host) answers \(token), which is not a request to it", at: now)
    }
    set(number == nil ? .rejected : .confirmed, for: request)
    guard let number else { return }
    switch request {
    case .add(let index), .again(let index):
      let known = submissions[index].number
      guard isDuplicate ? known == nil || known == number : known == nil else {
        throw Violation(
          .keyAcceptedOnce,
          "submission \(index), number \(known?.rawValue ?? 0), is answered with \(number.rawValue)", at: now)
      }
      guard numbers[host][number] == nil || numbers[host][number] == index else {
        throw Violation(.numberKnown, "number \(number.rawValue) is given a second time", at: now)
      }
      numbers[host][number] = index
      submissions[index].number = number
      if let ending = strangersEndings[host].removeValue(forKey: number) {
        submissions[index].ending = ending
      }
    case .update(let index, _), .remove(let index, _):
      guard submissions[index].number == number else {
        throw Violation(.numberKnown, "number \(number.rawValue) answers a request about another", at: now)
      }
    }
  }

  /// The submission that a report of a host is about.
  package mutating func subject(of number: OutboxNumber, host: Int, at now: Instant) throws(Violation)
    -> Subject
  {
    if let index = numbers[host][number] { return .submission(index) }
    strangers[host].insert(number)
    guard strangers[host].count <= strangersLimit[host] else {
      throw Violation(
        .numberKnown, "host \(host) reports about \(number.rawValue), which was never returned", at: now)
    }
    return .unconfirmed
  }

  /// Records how a submission ended whose number was never returned.
  package mutating func record(_ ending: Ending, ofStranger number: OutboxNumber, host: Int) {
    strangersEndings[host][number] = ending
  }

  /// Changes the known state of a submission.
  package mutating func mark(_ submission: Int, _ body: (inout Submission) -> Void) {
    body(&submissions[submission])
  }

  // MARK: Final state

  /// The expected final state of the display.
  package func expectation(of index: Int) -> Expectation {
    let submission = submissions[index]
    guard submission.ending == nil, submission.fate != .rejected, !submission.removals.contains(.confirmed)
    else {
      return .absent
    }
    let lastConfirmed = submission.versions.lastIndex { $0.fate == .confirmed } ?? 0
    let contents = submission.versions[lastConfirmed...].filter { $0.fate != .rejected }.map(\.content)
    let isSure =
      submission.fate == .confirmed && !submission.removals.contains(.unknown)
      && !submission.hasLeft
    return isSure ? .present(contents) : .either(contents)
  }
}
