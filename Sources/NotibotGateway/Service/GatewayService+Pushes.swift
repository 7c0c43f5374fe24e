#if Gateway
import Digests
import GatewayRules
import NIOCore
import NotibotHost

// From a request to the intake: trust, headers, tokens, the body.
extension GatewayService {
  /// Receives a push with all of its body, or as much of it as shows that it is too large. Calls
  /// `answer` once, on the event loop.
  func push(
    _ headers: PushHeaders, body: [UInt8], connection: Int,
    answer: @escaping @Sendable (PushAnswer) -> Void
  ) {
    let began = ContinuousClock.now
    afterCheckingTables { $0.receive(headers, body, connection, began, answer) }
  }

  /// A push that is refused before all of it has come.
  func recordRefusal(_ answer: PushAnswer) {
    record("apns", "", "", answer, answer.reason?.rawValue ?? "", .now)
  }

  /// A sender that does not get as far as a push.
  func record(_ refusal: ConnectionRefusal) {
    let (status, verdict, remark): (Int, String, PushRemark)
    switch refusal {
    case .notHTTP2:
      (status, verdict) = (505, "HTTPVersionNotSupported")
      remark = PushRemark("", "the client does not speak HTTP/2", remedy: "use HTTP/2, as APNs needs it")
    case .handshake(let reason):
      (status, verdict) = (0, "TLSHandshakeFailed")
      remark = PushRemark(
        "", "no connection with TLS: \(reason)",
        remedy: "the client has to speak TLS 1.2 or 1.3 and to trust \(folder.authority)")
    }
    log.append(
      PushLog.Entry(
        at: clock.wall(), source: "apns", topic: "", token: "", apnsID: "", status: status, verdict: verdict,
        remarks: [remark]))
  }

  private func receive(
    _ headers: PushHeaders, _ body: [UInt8], _ connection: Int, _ began: ContinuousClock.Instant,
    _ answer: @escaping @Sendable (PushAnswer) -> Void
  ) {
    let ownID = headers.echoedID
    let apnsID = ownID ?? GatewayClock.uuid()
    var subject = Subject()
    do throws(PushRefusal) {
      let (push, reading) = try decide(headers, body, apnsID, connection, clock.wall(), &subject)
      var waiter = Waiter(source: "apns", topic: push.topic, token: subject.token, began: began) { reply, _ in
        // A repetition without an id gets the first one's; every other id is echoed byte for byte.
        var reply = reply
        reply.apnsID = ownID ?? reply.apnsID
        answer(reply)
      }
      waiter.explain(reading)
      accept(push, waiter)
    } catch {
      let reply = PushAnswer(
        reason: error.reason, apnsID: apnsID, since: subject.since, remarks: error.remarks,
        paceSeconds: configuration.intake.paceSeconds)
      record("apns", subject.topic, subject.token, reply, error.reason.rawValue, began)
      answer(reply)
    }
  }

  /// What is known of a push when it is refused.
  private struct Subject {
    var topic = ""
    /// The label of its device token.
    var token = ""
    /// When the token became invalid.
    var since: WallTime?
  }

  /// The checks of a push in their order: nothing is looked up before the sender is trusted.
  private func decide(
    _ headers: PushHeaders, _ body: [UInt8], _ apnsID: String, _ connection: Int, _ now: WallTime,
    _ subject: inout Subject
  ) throws(PushRefusal) -> (IntakePush, PushReading) {
    guard !isStopping else { throw PushRefusal(.shutdown) }
    if let reason = headers.refusalBeforeTrust() { throw PushRefusal(reason) }
    // An unreadable table can hide a revocation: senders repeat the push when it is repaired.
    guard hasReadableTrust else {
      throw PushRefusal(.serviceUnavailable, because: "a table of the gateway cannot be read")
    }
    guard fullFiles.isEmpty else {
      throw PushRefusal(.serviceUnavailable, [PushRemark("", Self.noRoom)])
    }
    let key = try trust(headers.authorization, connection, now)
    // The key's own text: all items of a topic share it.
    let named = headers.first("apns-topic").map(Topic.withoutSuffix)
    let allowed = key.topics.first { $0 == named }
    subject.topic = allowed ?? ""
    let head = try headers.head()
    guard let topic = allowed else { throw PushRefusal(.topicDisallowed) }
    let (known, refusal) = PushRequest.token(of: head, in: tokens)
    (subject.token, subject.since) = (known?.label ?? "", known?.revoked)
    if let refusal { throw refusal }
    guard let token = known else { throw PushRefusal(.badDeviceToken) }
    for index in failures.indices {
      guard let reason = failures[index].reason(topic: topic, token: token.name) else { continue }
      if reason == .unregistered { subject.since = now }
      throw PushRefusal(reason, [PushRemark("'failures' of gateway.json", "a rule refuses this push")])
    }
    guard body.count <= head.bodyLimitBytes else { throw PushRefusal(.payloadTooLarge) }
    let profile = TopicProfile.of(topic: topic, in: profiles)
    let reading = try profile.reading(of: body, head, now: now)
    var push = IntakePush(
      key: pushKey(head, token.digest, body, reading.meaning), hasOwnKey: head.apnsID != nil, apnsID: apnsID,
      topic: topic, token: token.digest, meaning: reading.meaning, badge: reading.badge,
      expiration: head.expiration, oncePerDay: profile.oncePerDay)
    push.hasSendersID = head.apnsID != nil
    return (push, reading)
  }

  private func pushKey(
    _ head: PushHead, _ token: [UInt8], _ body: [UInt8], _ meaning: PushMeaning
  ) -> [UInt8] {
    // States of an activity can go back and forth within a second.
    var isRepeatable = false
    if case .activity = meaning { isRepeatable = true }
    guard head.apnsID != nil || configuration.intake.contentKeepMs > 0 && !isRepeatable else {
      return SHA256.digest(of: "u", GatewayClock.uuid())
    }
    return PushRequest.key(head, token: token, body: body)
  }

  // MARK: Trust

  func trust(
    _ authorization: String?, _ connection: Int, _ now: WallTime
  ) throws(PushRefusal) -> TrustedKey {
    var verdict = verifier.verdict(authorization, now: now)
    if case .verify(let check) = verdict {
      verdict = verifier.receive(check, isValid: ProviderKey.isValid(check))
    }
    switch verdict {
    case .refused(let refusal): throw refusal
    case .verify: throw PushRefusal(.internalServerError)
    case .accepted(let key):
      let name = key.teamID + "\0" + key.keyID
      let first = connectionKeys[connection] ?? name
      connectionKeys[connection] = first
      guard first == name else { throw PushRefusal(.unrelatedKeyIDInToken) }
      return key
    }
  }

  func handleClosed(connection: Int) { connectionKeys[connection] = nil }

  // MARK: Payloads of files

  /// Receives a payload from a file, for a topic: `notibot-gateway push`.
  func push(
    file body: [UInt8], topic: String, answer: @escaping @Sendable (PushAnswer, IntakeOutcome?) -> Void
  ) {
    afterCheckingTables { $0.receive(file: body, topic: topic, answer: answer) }
  }

  private func receive(
    file body: [UInt8], topic: String, answer: @escaping @Sendable (PushAnswer, IntakeOutcome?) -> Void
  ) {
    let began = ContinuousClock.now
    let id = GatewayClock.uuid()
    let head = PushHead(topic: topic, apnsID: id)
    let profile = TopicProfile.of(topic: head.profileTopic, in: profiles)
    do throws(PushRefusal) {
      if let refusal = publishRefusal { throw PushRefusal(refusal) }
      guard body.count <= head.bodyLimitBytes else { throw PushRefusal(.payloadTooLarge) }
      let reading = try profile.reading(of: body, head, now: clock.wall())
      let push = IntakePush(
        key: SHA256.digest(of: "f", id), hasOwnKey: true, apnsID: id, topic: head.profileTopic, token: [],
        meaning: reading.meaning, badge: reading.badge, oncePerDay: profile.oncePerDay)
      var waiter = Waiter(source: "file", topic: push.topic, token: "", began: began, answer: answer)
      waiter.explain(reading)
      accept(push, waiter)
    } catch {
      let reply = PushAnswer(reason: error.reason, apnsID: id, remarks: error.remarks)
      record("file", head.profileTopic, "", reply, error.reason.rawValue, began)
      answer(reply, nil)
    }
  }
}

extension GatewayService.Waiter {
  /// What the answer says of a push that was understood.
  fileprivate mutating func explain(_ reading: PushReading) {
    remarks = reading.remarks
    if case .nothing = reading.meaning { isExplained = true }
  }
}
#endif
