#if Gateway
import GatewayRules
import NIOHTTP1

// Requests in the form of ntfy.
extension HTTPRequestHandler {
  private static let json = "application/json"

  /// - Parameters:
  ///   - path: the address before `?`.
  ///   - query: the address after it.
  func publish(_ request: Request, _ path: String, _ query: String, _ reply: @escaping Reply) {
    let headers = request.head.headers
    let parameters = PublishParameters(
      fields: headers.map { (name: $0.name.lowercased(), value: $0.value) }, query: query)
    let clock = service.clock
    do throws(PublishProblem) {
      let route = try PublishRoute(
        method: request.head.method.rawValue, path: path, parameters: parameters,
        isJSON: headers["content-type"].first?.lowercased().hasPrefix(Self.json) ?? false)
      switch route {
      case .message(let topic, let sequence):
        publish(
          try PublishRequest(topic: topic, sequence: sequence, parameters, body: request.body) {
            clock.calendar(zone: $0)
          }, reply)
      case .removal(let event, let topic, let sequence):
        publish(PublishRequest(event, topic: topic, sequence: sequence, parameters), reply)
      case .poll(let topics):
        let poll = try PublishPoll(topics: topics, parameters, now: clock.wall())
        answer(reply, "application/x-ndjson; charset=utf-8") { await $0.messages(poll) }
      case .document(let document): send(document, reply)
      }
    } catch {
      refuse(error, reply, path)
    }
  }

  private func publish(_ request: PublishRequest, _ reply: @escaping Reply) {
    service.assumeIsolated { service in
      service.publish(request) { result in
        switch result {
        case .success(let body): reply(200, Self.json, body)
        case .failure(let problem): reply(problem.status, Self.json, problem.body)
        }
      }
    }
  }

  private func send(_ document: PublishDocument, _ reply: Reply) {
    let (isHealthy, count) = service.assumeIsolated { ($0.healthProblem == nil, $0.messagesCount) }
    reply(
      document == .health && !isHealthy ? 503 : 200, document.type,
      document.body(isHealthy: isHealthy, count: count))
  }

  /// Answers in ntfy's form, and lists the request.
  func refuse(_ problem: PublishProblem, _ reply: Reply, _ path: String = "") {
    let topic = path.split(separator: "/").first.map(String.init) ?? ""
    // Other words of a path can be a key of another service.
    service.assumeIsolated { $0.record(problem, topic: PublishRoute.isName(topic) ? topic : "") }
    reply(problem.status, Self.json, problem.body)
  }
}
#endif
