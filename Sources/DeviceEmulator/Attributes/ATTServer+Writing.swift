import NotibotProtocol

/// Writes, short and long. Source: PROTOCOL.md ATT-11 to ATT-14.
extension ATTServer {
  mutating func write(_ value: [UInt8], to handle: UInt16, on bearer: inout ATTBearer) throws(Refusal) {
    let attribute = try writableAttribute(handle)
    switch attribute.content {
    case .data: try storeNotification(value, from: bearer.writer)
    case .cccd(let subscription): try setCCCD(of: subscription, to: value, handle: handle, on: &bearer)
    case .fixed, .count: throw Refusal(.writeNotPermitted, handle: handle)
    }
  }

  func prepare(_ part: ATTBearer.Part, on bearer: inout ATTBearer) throws(Refusal) {
    _ = try writableAttribute(part.handle)
    guard bearer.prepare(part) else { throw Refusal(.prepareQueueFull, handle: part.handle) }
  }

  /// Writes or discards the prepared parts; the queue is empty afterwards, whatever the answer.
  mutating func execute(_ flag: ATTPDU.ExecuteFlag, on bearer: inout ATTBearer) throws(Refusal) {
    let parts = bearer.takeParts()
    switch flag {
    case .cancel: return
    case .write: break
    }
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
    try checkCCCDs(in: writes)
    let isData = { (handle: UInt16) in handle == NotibotProfile.Handle.data }
    for write in writes where isData(write.handle) {
      try self.write(write.value, to: write.handle, on: &bearer)
    }
    for write in writes where !isData(write.handle) {
      try self.write(write.value, to: write.handle, on: &bearer)
    }
  }

  /// Source: PROTOCOL.md ATT-14.
  private func checkCCCDs(in writes: [(handle: UInt16, value: [UInt8])]) throws(Refusal) {
    for write in writes {
      switch AttributeTable.attribute(write.handle)?.content {
      case .cccd: _ = try cccdValue(write.value, handle: write.handle)
      case .data, .fixed, .count, nil: break
      }
    }
  }

  private func writableAttribute(_ handle: UInt16) throws(Refusal) -> AttributeTable.Attribute {
    guard let attribute = AttributeTable.attribute(handle) else {
      throw Refusal(.invalidHandle, handle: handle)
    }
    guard attribute.isWritable else { throw Refusal(.writeNotPermitted, handle: handle) }
    return attribute
  }

  /// Source: PROTOCOL.md ATT-12.
  private func setCCCD(
    of subscription: AttributeTable.Subscription, to value: [UInt8], handle: UInt16,
    on bearer: inout ATTBearer
  ) throws(Refusal) {
    bearer.setCCCD(of: subscription, to: try cccdValue(value, handle: handle))
  }

  private func cccdValue(_ value: [UInt8], handle: UInt16) throws(Refusal) -> UInt16 {
    guard value.count == 2 else { throw Refusal(.invalidValueLength, handle: handle) }
    guard value[0] <= 1, value[1] == 0 else { throw Refusal(.cccdImproperlyConfigured, handle: handle) }
    return UInt16(value[0])
  }

  /// Stores one notification, or returns the reason why not. Source: PROTOCOL.md NTF-1, NTF-9,
  /// NTF-23.
  private mutating func storeNotification(
    _ json: [UInt8], from writer: NotificationStore.Writer
  ) throws(Refusal) {
    let handle = NotibotProfile.Handle.data
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
