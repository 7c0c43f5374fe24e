import NotibotProtocol

/// Discovery and reads. Source: PROTOCOL.md ATT-9 to ATT-11. `AttributeTable` limits values and
/// types, so that at the least MTU no answer has to cut one value, the handles of one type, or the
/// types of one length that follow each other.
extension ATTServer {
  func findInformation(_ range: HandleRange) throws(Refusal) -> ATTPDU {
    let found = try attributes(in: range)
    guard let first = found.first else { throw Refusal(.attributeNotFound, handle: range.start) }
    let entries = found.prefix { $0.type.lengthBytes == first.type.lengthBytes }
    return .findInformationResponse(entries.map { .init(handle: $0.handle, type: $0.type) })
  }

  func findByTypeValue(
    _ range: HandleRange, type: BluetoothUUID, value: [UInt8], on bearer: ATTBearer
  ) throws(Refusal) -> ATTPDU {
    let found = try attributes(in: range).filter {
      $0.type == type && $0.isReadable && self.value(of: $0, on: bearer) == value
    }
    guard !found.isEmpty else { throw Refusal(.attributeNotFound, handle: range.start) }
    return .findByTypeValueResponse(
      found.map { HandleRange(start: $0.handle, end: AttributeTable.groupEnd(of: $0)) })
  }

  func readByType(_ range: HandleRange, type: BluetoothUUID, on bearer: ATTBearer) throws(Refusal) -> ATTPDU {
    let found = try attributes(in: range).filter { $0.type == type }
    guard let first = found.first else { throw Refusal(.attributeNotFound, handle: range.start) }
    guard first.isReadable else { throw Refusal(.readNotPermitted, handle: first.handle) }
    let readable = found.prefix { $0.isReadable }
    let entries = readable.map { ATTPDU.AttributeValue(handle: $0.handle, value: value(of: $0, on: bearer)) }
    return .readByTypeResponse(uniform(entries, mtu: bearer.mtu, entryBytes: 2) { $0.value.count })
  }

  func readByGroupType(
    _ range: HandleRange, type: BluetoothUUID, on bearer: ATTBearer
  ) throws(Refusal) -> ATTPDU {
    let inRange = try attributes(in: range)
    guard type == .primaryService else { throw Refusal(.unsupportedGroupType, handle: range.start) }
    let found = inRange.filter { $0.type == type }
    guard !found.isEmpty else { throw Refusal(.attributeNotFound, handle: range.start) }
    let entries = found.map {
      ATTPDU.AttributeGroup(
        handles: HandleRange(start: $0.handle, end: AttributeTable.groupEnd(of: $0)),
        value: value(of: $0, on: bearer))
    }
    return .readByGroupTypeResponse(uniform(entries, mtu: bearer.mtu, entryBytes: 4) { $0.value.count })
  }

  /// The bytes of a value from an offset.
  func read(_ handle: UInt16, offset: Int, on bearer: ATTBearer) throws(Refusal) -> [UInt8] {
    guard let attribute = AttributeTable.attribute(handle) else {
      throw Refusal(.invalidHandle, handle: handle)
    }
    guard attribute.isReadable else { throw Refusal(.readNotPermitted, handle: handle) }
    let value = value(of: attribute, on: bearer)
    guard offset <= value.count else { throw Refusal(.invalidOffset, handle: handle) }
    return Array(value.dropFirst(offset))
  }

  private func attributes(in range: HandleRange) throws(Refusal) -> ArraySlice<AttributeTable.Attribute> {
    guard range.start > 0, range.start <= range.end else {
      throw Refusal(.invalidHandle, handle: range.start)
    }
    return AttributeTable.attributes(in: range)
  }

  /// As many entries of the first one's size as fit. Source: PROTOCOL.md ATT-9.
  private func uniform<Entry>(
    _ entries: [Entry], mtu: UInt16, entryBytes: Int, valueLength: (Entry) -> Int
  ) -> [Entry] {
    guard let first = entries.first else { return [] }
    let length = valueLength(first)
    let room = max(1, (Int(mtu) - 2) / (entryBytes + length))
    return Array(entries.prefix { valueLength($0) == length }.prefix(room))
  }
}
