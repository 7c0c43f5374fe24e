import DeviceEmulator
import Foundation
import NIOCore
import NotibotHost
import NotibotProtocol
import SerialLink

// What clients send.
extension ShareServer {
  // MARK: Connections, on the event loop

  /// The number of the next client.
  func nextNumber() -> Int {
    lastClient += 1
    return lastClient
  }

  /// A program has connected. It can be gone again when this returns: `leave` comes meanwhile.
  func admit(_ id: Int, _ channel: any NIOCore.Channel, pid: Int32) {
    // Cut here, so that each line that names clients keeps its limit, also one with all of them.
    var command = String(PortHolder(pid: pid).command.unicodeScalars.prefix(Self.commandLimitBytes))
    while JSONRecord.quoted(command).utf8.count > Self.commandLimitBytes + 2 {
      command.unicodeScalars.removeLast()
    }
    let process = PortHolder(pid: pid, command: command)
    clients[id] = ShareClient(id: id, channel: channel, process: process)
    clients[id]?.greet(ShareGreeting(port: name.description))
    if clients.count > Self.clientsLimit {
      // One that uses the board keeps its place, one that is only connected does not.
      let idle = clients.values.filter { $0.id != id && $0.isIdle }.map(\.id).min()
      refuse(idle ?? id, nil, .portBusy, "\(Self.clientsLimit) clients are connected", "stop one of them")
      drop(idle ?? id, because: "too many clients are connected")
    }
    transmit(to: id)
  }

  func receive(_ buffer: ByteBuffer, from id: Int) {
    switch clients[id]?.stage {
    case .talking:
      clients[id]?.unread.writeImmutableBuffer(buffer)
      readLines(of: id)
    case .attached:
      clients[id]?.line?.receive(Array(buffer.readableBytesView), now: now)
      if clients[id]?.line?.isFlooded == true { drop(id, because: "it sends more than its credit") }
    case .leasing:
      board?.writeAndFlush(buffer, promise: nil)
    case nil: break
    }
  }

  /// The connection is over.
  func leave(_ id: Int) {
    guard let client = clients.removeValue(forKey: id) else { return }
    arbiter.remove(id)
    if case .leased(id, _) = use, !isStopping { change(.shared) }
    if client.stage == .attached { drainActions() }
  }

  /// Ends a connection from this side.
  func drop(_ id: Int, because reason: String) {
    transmit(to: id)
    guard let client = clients[id] else { return }
    Output.note("closed the connection of process \(client.process.description): \(reason)")
    client.channel.close(promise: nil)
    leave(id)
  }

  // MARK: Lines of JSON

  /// Handles received lines, as many as have room; those behind them stay with the client.
  func readLines(of id: Int) {
    while let client = clients[id], client.stage == .talking {
      let isFull = client.isFull
      if client.isPaused != isFull {
        clients[id]?.isPaused = isFull
        // It fails for a closed channel, which reads no more.
        try? client.channel.syncOptions?.setOption(.autoRead, value: !isFull)
      }
      if isFull { return }
      guard let end = client.unread.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) else {
        clients[id]?.unread.discardReadBytes()
        if client.unread.readableBytes < ShareSocket.lineLimitBytes { return }
        return dropForLength(id)
      }
      guard end - client.unread.readerIndex < ShareSocket.lineLimitBytes else { return dropForLength(id) }
      let line = clients[id]?.unread.readBytes(length: end - client.unread.readerIndex) ?? []
      clients[id]?.unread.moveReaderIndex(forwardBy: 1)
      receive(line, of: id)
      if clients[id]?.isFull == true { transmit(to: id) }
    }
    guard let client = clients[id], client.unread.readableBytes > 0, client.stage != .talking else { return }
    clients[id]?.unread = ByteBuffer()
    receive(client.unread, from: id)
  }

  private func dropForLength(_ id: Int) {
    refuse(
      id, nil, .usage, "a line is longer than \(ShareSocket.lineLimitBytes) bytes",
      "send one request per line")
    drop(id, because: "it sent a line that is too long")
  }

  private func receive(_ line: [UInt8], of id: Int) {
    guard let request = try? JSONDecoder().decode(ShareRequest.self, from: Data(line)) else {
      return refuse(id, nil, .usage, "this is not a request", #"send a line such as {"id":1,"op":"status"}"#)
    }
    switch request.op {
    case "status":
      let answer = status(request.id)
      clients[id]?.answer(answer)
    case "attach" where !isAwaiting(id), "lease" where !isAwaiting(id):
      request.op == "attach" ? attach(id, request.id) : lease(id, request.id)
    case "attach", "lease":
      refuse(id, request.id, .usage, "earlier requests have no answer yet", "wait for their answers")
    case "count", "send", "events": operate(request, line, of: id)
    case _:
      refuse(
        id, request.id, .usage, "there is no such operation",
        "use status, count, send, events, attach or lease")
    }
  }

  private func isAwaiting(_ id: Int) -> Bool { clients[id]?.isAwaiting == true }

  func refuse(_ id: Int, _ request: Int64?, _ status: FailureKind, _ reason: String, _ hint: String) {
    clients[id]?.answer(ShareAnswer(id: request, status, reason, hint: hint))
  }

  private func status(_ request: Int64?) -> ShareAnswer {
    var answer = ShareAnswer(id: request, connected: info != nil)
    answer.open = board != nil
    answer.deviceID = info?.deviceID?.description
    answer.clients = clients.values.sorted { $0.id < $1.id }.map {
      let mode =
        switch $0.stage {
        case .talking: "talking"
        case .attached: "attached"
        case .leasing: "leasing"
        }
      return ShareAnswer.Client(pid: $0.process.pid, command: $0.process.command, mode: mode)
    }
    return answer
  }

  private func attach(_ id: Int, _ request: Int64?) {
    if case .leased(let holder, _) = use, let client = clients[holder] {
      return refuse(
        id, request, .portBusy, "process \(client.process.description) has the board to itself",
        "stop process \(client.process.pid), or wait until it ends")
    }
    clients[id]?.answer(ShareAnswer(id: request, connected: info != nil))
    clients[id]?.stage = .attached
    offerLine(to: id)
  }

  private func lease(_ id: Int, _ request: Int64?) {
    // A test opens its port again while its earlier connection closes.
    let pid = clients[id]?.process.pid
    for other in clients.values where other.stage != .talking && other.process.pid == pid {
      other.channel.close(promise: nil)
      leave(other.id)
    }
    let users = clients.values.filter { $0.stage != .talking || $0.isAwaiting }
    guard users.isEmpty else {
      let names = users.sorted { $0.id < $1.id }.map(\.process.description).joined(separator: ", ")
      return refuse(
        id, request, .portBusy, "the board is in use by process \(names)",
        "stop these programs, or wait until they end")
    }
    // The end of an earlier lease writes to all clients, which can end the connection of this one.
    guard clients[id] != nil else { return }
    clients[id]?.stage = .leasing
    change(.leased(client: id, request: request))
  }

  // MARK: The line of an attached client

  /// Takes everything that a client's line has received.
  func serve(_ id: Int) {
    while let event = clients[id]?.line?.nextEvent() {
      switch event {
      case .opened(let source):
        arbiter.remove(id)
        clients[id]?.renew()
        if let source { arbiter.announce(source: source, of: id) }
      case .ended:
        arbiter.remove(id)
        clients[id]?.renew()
      case .request(let pdu): receive(request: pdu, of: id)
      case .message(let payload): receive(message: payload, of: id)
      case .text(let bytes): board?.write(ByteBuffer(bytes: bytes), promise: nil)
      }
    }
  }

  private func receive(message payload: [UInt8], of id: Int) {
    // Malformed ones are dropped (PROTOCOL.md NTF-30).
    guard let message = try? SyncMessage(parsing: payload), let slot = clients[id]?.freshNumber() else {
      return
    }
    let ticket = ShareArbiter.Ticket(client: id, number: slot)
    switch message {
    case .sync(let request): arbiter.submit(.sync(request), ticket)
    case .taken(let source, let press): arbiter.submit(.taken(source: source, press: press), ticket)
    case .synced, .resync, .gone, .press: break
    }
  }

  private func receive(request bytes: [UInt8], of id: Int) {
    func refuse(_ error: ATTError, _ handle: UInt16 = 0) {
      clients[id]?.answer(.errorResponse(request: bytes.first ?? 0, handle: handle, error: error))
    }
    func submit(_ operation: ShareArbiter.Operation) {
      guard let slot = clients[id]?.openSlot() else { return }
      arbiter.submit(operation, ShareArbiter.Ticket(client: id, number: slot))
    }
    guard let pdu = try? ATTPDU(parsing: bytes) else { return refuse(.invalidPDU) }
    switch pdu {
    case .exchangeMTURequest: clients[id]?.answer(.exchangeMTUResponse(mtu: 517))
    case .readRequest(NotibotProfile.Handle.count): submit(.readCount)
    case .writeRequest(NotibotProfile.Handle.data, let json):
      guard arbiter.source(of: id) != nil || !Self.hasForeignIdentity(json) else {
        return refuse(.notANotification, NotibotProfile.Handle.data)
      }
      submit(.write(json))
    case .writeRequest(let handle, let value)
    where handle == NotibotProfile.Handle.countCCCD || handle == NotibotProfile.Handle.dataCCCD:
      clients[id]?.follow(handle, value.first == 1)
      clients[id]?.answer(.writeResponse)
    // Commands and confirmations have no answer.
    case let other where other.opcode & 0x41 != 0 || other == .handleValueConfirmation: break
    default: refuse(.requestNotSupported)
    }
  }

  /// Whether a write of a client without a source has an `id` and no `src`: the board would take it
  /// for one of another client (PROTOCOL.md NTF-21).
  private static func hasForeignIdentity(_ json: [UInt8]) -> Bool {
    guard let object = try? JSONSerialization.jsonObject(with: Data(json)) as? [String: Any] else {
      return false
    }
    return object["id"] != nil && object["src"] == nil
  }
}
