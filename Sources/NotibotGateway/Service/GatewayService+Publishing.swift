#if Gateway
import GatewayRules
import NotibotHost
import NotibotProtocol

// Messages of scripts, without TLS.
extension GatewayService {
  /// Takes a message. Calls `answer` once, on the event loop, with the body of ntfy's answer.
  func publish(
    _ request: PublishRequest, answer: @escaping @Sendable (Result<String, PublishProblem>) -> Void
  ) {
    afterCheckingTables { $0.accept(request, answer) }
  }

  private func accept(
    _ request: PublishRequest, _ answer: @escaping @Sendable (Result<String, PublishProblem>) -> Void
  ) {
    let now = clock.wall()
    let id = request.id(random: GatewayClock.randomBytes())
    let push = request.push(id: id, now: now, callback: configuration.messageCallbacks[request.topic])
    var request = request
    if let remark = intake.rules.remark(on: push, clock.moment(isBoardUp: isBoardUp)) {
      request.notes.append("changed: \(remark.line)")
    }
    let reply = { @Sendable [request] (push: PushAnswer, outcome: IntakeOutcome?) in
      if let problem = PublishProblem(push, outcome) { return answer(.failure(problem)) }
      answer(.success(request.answer(id: id, now: now, outcome).line + "\n"))
    }
    if let refusal = publishRefusal {
      let answer = PushAnswer(
        reason: refusal, apnsID: id,
        remarks: [refusal == .shutdown ? refusal.remark : PushRemark("", Self.noRoom)])
      record("http", request.topic, "", answer, refusal.rawValue, .now)
      return reply(answer, nil)
    }
    messagesCount += 1
    accept(push, Waiter(source: "http", topic: request.topic, token: "", began: .now, answer: reply))
  }

  /// Continues pushes whose time has come.
  func wakeIntake() {
    intake.handleTimeout(at: clock.moment(isBoardUp: isBoardUp))
    drainActions()
  }

  /// Adds a refused request to the list of pushes.
  func record(_ problem: PublishProblem, topic: String) {
    log.append(
      PushLog.Entry(
        at: clock.wall(), source: "http", topic: topic, token: "", apnsID: "", status: problem.status,
        verdict: "refused \(problem.code.rawValue)", remarks: [PushRemark("", problem.text)]))
  }

  /// The messages that a poll asks for, one line of JSON each, as they are on the display.
  func messages(_ poll: PublishPoll) async -> String {
    let (shown, delayed) = intake.messages(of: poll.topics)
    let numbers = shown.map { OutboxNumber(rawValue: $0.number) }
    let contents = await gate.forwarder.contents(of: numbers)
    var rows = shown.compactMap { row in
      contents[OutboxNumber(rawValue: row.number)].map { row.message.content(topic: row.topic, $0) }
    }
    if poll.hasDelayed {
      rows += delayed.map { $0.message.content(topic: $0.item.notification.app, $0.item.notification) }
    }
    return poll.select(rows).map { $0.line + "\n" }.joined()
  }
}
#endif
