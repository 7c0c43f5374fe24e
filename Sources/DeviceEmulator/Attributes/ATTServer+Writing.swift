import NotibotProtocol

/// Writes, short and long. Source: PROTOCOL.md ATT-11 to ATT-14.
extension ATTServer {
  mutating func write(_ value: [UInt8], to handle: UInt16, on bearer: inout ATTBearer) throws(Refusal) {
    let attribute = try writableAttribute(handle, on: bearer)
    switch attribute.content {
    case .data: try storeNotification(value, from: bearer.writer, handle: handle)
    case .cccd(let subscription):
      bearer.setCCCD(of: subscription, to: try cccdValue(value, of: subscription, handle: handle, on: bearer))
    case .fixed, .count, .hidden: throw Refusal(.writeNotPermitted, handle: handle)
    }
  }

  func prepare(_ part: ATTBearer.Part, on bearer: inout ATTBearer) throws(Refusal) {
    _ = try writableAttribute(part.handle, on: bearer)
    guard bearer.prepare(part) else { throw Refusal(.prepareQueueFull, handle: part.handle) }
  }

  /// Writes or discards the prepared parts; the queue is empty afterwards, whatever the answer.
  mutating func execute(_ flag: ATTPDU.ExecuteFlag, on bearer: inout ATTBearer) throws(Refusal) {
    let parts = bearer.drainParts()
    switch flag {
    case .cancel: return
    case .write: break
    }
    guard bearer.model.traits.execution == .atOnce else { return try executeInTurn(parts, on: &bearer) }
    // Everything is checked before any value is written.
    var writes: [(handle: UInt16, value: [UInt8])] = []
    for part in parts {
      let index = writes.firstIndex { $0.handle == part.handle }
      let written = index.map { writes[$0].value.count } ?? 0
      guard part.offset == written else { throw Refusal(.invalidOffset, handle: part.handle) }
      if let index { writes[index].value += part.value } else { writes.append((part.handle, part.value)) }
    }
    writes.sort { $0.handle < $1.handle }
    // The CCCDs are checked, so only Data can still be refused: it is written first.
    try checkCCCDs(in: writes, on: bearer)
    let data = bearer.model.table.handle(NotibotProfile.Handle.data)
    let isData = { (handle: UInt16) in handle == data }
    for write in writes where isData(write.handle) {
      try self.write(write.value, to: write.handle, on: &bearer)
    }
    for write in writes where !isData(write.handle) {
      try self.write(write.value, to: write.handle, on: &bearer)
    }
  }

  private mutating func executeInTurn(
    _ parts: [ATTBearer.Part], on bearer: inout ATTBearer
  ) throws(Refusal) {
    var done: Set<UInt16> = []
    for first in parts where done.insert(first.handle).inserted {
      var value: [UInt8] = []
      for part in parts where part.handle == first.handle {
        guard part.offset == value.count else { throw Refusal(.invalidOffset, handle: part.handle) }
        value += part.value
      }
      try write(value, to: first.handle, on: &bearer)
    }
  }

  /// Takes what is not a request: only a stack's server executes or answers it. Source: PROTOCOL.md
  /// ATT-15.
  mutating func receiveUnasked(_ bytes: [UInt8], on bearer: inout ATTBearer) -> ATTPDU? {
    let traits = bearer.model.traits
    switch try? ATTPDU(parsing: bytes) {
    case .writeCommand(let handle, let value)? where traits.executesWriteCommands:
      try? write(value, to: handle, on: &bearer)
      return nil
    case .handleValueIndication? where traits.confirmsIndications: return .handleValueConfirmation
    case _: return nil
    }
  }

  /// Source: PROTOCOL.md ATT-14.
  private func checkCCCDs(
    in writes: [(handle: UInt16, value: [UInt8])], on bearer: ATTBearer
  ) throws(Refusal) {
    for write in writes {
      switch bearer.model.table.attribute(write.handle)?.content {
      case .cccd(let subscription):
        _ = try cccdValue(write.value, of: subscription, handle: write.handle, on: bearer)
      case .data, .fixed, .count, .hidden, nil: break
      }
    }
  }

  private func writableAttribute(
    _ handle: UInt16, on bearer: ATTBearer
  ) throws(Refusal) -> AttributeTable.Attribute {
    guard let attribute = bearer.model.table.attribute(handle) else {
      throw Refusal(.invalidHandle, handle: handle)
    }
    guard attribute.isWritable else { throw Refusal(.writeNotPermitted, handle: handle) }
    return attribute
  }

  /// Source: PROTOCOL.md ATT-12.
  private func cccdValue(
    _ value: [UInt8], of subscription: AttributeTable.Subscription, handle: UInt16, on bearer: ATTBearer
  ) throws(Refusal) -> UInt16 {
    guard value.count == 2 else { throw Refusal(.invalidValueLength, handle: handle) }
    let isListed = value == [0, 0] || value == [subscription.enabled, 0]
    if !isListed, let error = bearer.model.traits.refusedCCCD { throw Refusal(error, handle: handle) }
    return UInt16(value[0]) | UInt16(value[1]) << 8
  }

  /// Stores one notification, or returns the reason why not. Source: PROTOCOL.md NTF-1, NTF-9,
  /// NTF-23.
  private mutating func storeNotification(
    _ json: [UInt8], from writer: NotificationStore.Writer, handle: UInt16
  ) throws(Refusal) {
    guard json.count <= NotibotProfile.dataLimitBytes else {
      counters.refused += 1
      throw Refusal(.invalidValueLength, handle: handle)
    }
    let refusal: Refusal
    switch store.write(json, by: writer) {
    case .stored:
      counters.stored += 1
      return
    case .replaced:
      counters.modified += 1
      return
    case .removed:
      counters.removed += 1
      return
    case .unchanged:
      counters.duplicates += 1
      return
    case .invalid: refusal = Refusal(.notANotification, handle: handle)
    case .conflict: refusal = Refusal(.conflict, handle: handle)
    case .full: refusal = Refusal(.insufficientResources, handle: handle)
    }
    counters.refused += 1
    switch mode {
    case .strict: throw refusal
    case .firmware: break
    }
  }
}
