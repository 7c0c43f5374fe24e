import Foundation
import NotibotHost
import NotibotProtocol
import SerialLink

// What a client asks of the board in lines of JSON. Source: docs/INTERFACE.md.
extension ShareServer {
  /// Count, send and events. They wait for the board's session, and for the end of a lease.
  func operate(_ request: ShareRequest, _ line: [UInt8], of id: Int) {
    switch request.op {
    case "count": submit(.readCount, ShareClient.Operation(id: request.id, verb: "read the count of"), of: id)
    case "send": send(request, line, of: id)
    case _:
      clients[id]?.followsInLines = true
      clients[id]?.answer(ShareAnswer(id: request.id, connected: info != nil))
    }
  }

  private func send(_ request: ShareRequest, _ line: [UInt8], of id: Int) {
    guard let given = (try? JSONDecoder().decode(ShareSending.self, from: Data(line)))?.notification else {
      return refuse(
        id, request.id, .usage, "this is not a notification",
        #"send it as "notification":{"app":"…","title":"…","text":"…","timestamp":1234567890}"#)
    }
    let notification = WrittenNotification(
      notification: DisplayNotification(
        app: given.app, title: given.title, text: given.text, timestamp: given.timestamp))
    var json: [UInt8] = []
    let isCut = notification.encode(into: &json) == .fields
    let cutMembers = isCut ? notification.cutMembers : nil
    submit(
      .write(json), ShareClient.Operation(id: request.id, verb: "send to", cutMembers: cutMembers), of: id)
  }

  private func submit(
    _ operation: ShareArbiter.Operation, _ described: ShareClient.Operation, of id: Int
  ) {
    guard let slot = clients[id]?.begin(described) else { return }
    arbiter.submit(operation, ShareArbiter.Ticket(client: id, number: slot))
  }

  /// The board's answer to a line of JSON.
  func finish(_ ticket: ShareArbiter.Ticket, _ result: HostResult) {
    let port = name.description
    clients[ticket.client]?.finish(ticket.number) { operation in
      switch result {
      case .count(let count): return ShareAnswer(id: operation.id, count: count)
      case .accepted, .response, .sent:
        var answer = ShareAnswer(id: operation.id)
        answer.cut = operation.cutMembers.map { _ in true }
        answer.cutMembers = operation.cutMembers
        return answer
      case .refused(let error):
        return ShareAnswer(id: operation.id, NotibotError(error, port: port, operation: operation.verb))
      case .failed(let failure):
        return ShareAnswer(id: operation.id, NotibotError(failure, port: port, operation: operation.verb))
      }
    }
    readLines(of: ticket.client)
  }

  /// The session ended before the board got these requests.
  func failOperations(of id: Int, _ end: SessionEnd) {
    for slot in clients[id]?.operations.keys.sorted() ?? [] {
      finish(ShareArbiter.Ticket(client: id, number: slot), .failed(.notSent(end)))
    }
  }

  /// Shows an event to the clients that follow in lines of JSON.
  func show(_ event: Device.Event) {
    guard let document = EventDocument(event) else { return }
    for id in clients.keys { clients[id]?.show(document) }
  }
}
