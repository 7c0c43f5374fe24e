import NotibotProtocol

/// Discovery and reads. Source: PROTOCOL.md ATT-9 to ATT-11.
extension ATTServer {
  func findInformation(_ range: HandleRange, on bearer: ATTBearer) throws(Refusal) -> ATTPDU {
    let found = try attributes(in: range, on: bearer)
    guard !found.isEmpty else { throw Refusal(.attributeNotFound, handle: range.start) }
    let entries = uniform(found, mtu: bearer.mtu, entryBytes: 2) { $0.type.lengthBytes }
    return .findInformationResponse(entries.map { .init(handle: $0.handle, type: $0.type) })
  }

  func findByTypeValue(
    _ range: HandleRange, type: BluetoothUUID, value: [UInt8], on bearer: ATTBearer
  ) throws(Refusal) -> ATTPDU {
    let found = try attributes(in: range, on: bearer).filter {
      $0.type == type && $0.isReadable && self.value(of: $0, on: bearer) == value
    }
    guard !found.isEmpty else { throw Refusal(.attributeNotFound, handle: range.start) }
    return .findByTypeValueResponse(found.prefix((Int(bearer.mtu) - 1) / 4).map { group(of: $0, on: bearer) })
  }

  func readByType(_ range: HandleRange, type: BluetoothUUID, on bearer: ATTBearer) throws(Refusal) -> ATTPDU {
    let found = try attributes(in: range, on: bearer).filter { $0.type == type }
    guard let first = found.first else { throw Refusal(.attributeNotFound, handle: range.start) }
    guard first.isReadable else { throw Refusal(.readNotPermitted, handle: first.handle) }
    let readable = found.prefix { $0.isReadable }
    let limit = Int(bearer.mtu) - 4
    let entries = readable.map {
      ATTPDU.AttributeValue(handle: $0.handle, value: Array(value(of: $0, on: bearer).prefix(limit)))
    }
    return .readByTypeResponse(uniform(entries, mtu: bearer.mtu, entryBytes: 2) { $0.value.count })
  }

  func readByGroupType(
    _ range: HandleRange, type: BluetoothUUID, on bearer: ATTBearer
  ) throws(Refusal) -> ATTPDU {
    let inRange = try attributes(in: range, on: bearer)
    guard type == .primaryService else {
      let isSecondary = type == .secondaryService
      throw Refusal(
        isSecondary ? bearer.model.traits.secondaryServices : .unsupportedGroupType, handle: range.start)
    }
    let found = inRange.filter { $0.type == type }
    guard !found.isEmpty else { throw Refusal(.attributeNotFound, handle: range.start) }
    let entries = found.map {
      ATTPDU.AttributeGroup(handles: group(of: $0, on: bearer), value: value(of: $0, on: bearer))
    }
    return .readByGroupTypeResponse(uniform(entries, mtu: bearer.mtu, entryBytes: 4) { $0.value.count })
  }

  /// The values of several attributes, without lengths. Only a stack's server answers it.
  func readMultiple(_ request: [UInt8], on bearer: ATTBearer) throws(Refusal) -> ATTPDU {
    guard request.count >= 5, request.count % 2 == 1 else { throw Refusal(.invalidPDU, handle: 0) }
    var values: [UInt8] = []
    for index in stride(from: 1, to: request.count, by: 2) {
      values += try read(UInt16(request[index]) | UInt16(request[index + 1]) << 8, offset: 0, on: bearer)
    }
    return .unknown(
      opcode: ATTOpcode.readMultipleResponse.rawValue, parameters: Array(values.prefix(Int(bearer.mtu) - 1)))
  }

  /// The bytes of a value from an offset, as many as fit.
  func read(_ handle: UInt16, offset: Int, on bearer: ATTBearer) throws(Refusal) -> [UInt8] {
    guard let attribute = bearer.model.table.attribute(handle) else {
      throw Refusal(.invalidHandle, handle: handle)
    }
    guard attribute.isReadable else { throw Refusal(.readNotPermitted, handle: handle) }
    let value = value(of: attribute, on: bearer)
    let isWhole = attribute.type == .characteristic && bearer.model.traits.ignoresOffsetOfDeclarations
    let start = isWhole ? 0 : offset
    guard start <= value.count else { throw Refusal(.invalidOffset, handle: handle) }
    return Array(value.dropFirst(start).prefix(Int(bearer.mtu) - 1))
  }

  private func group(of attribute: AttributeTable.Attribute, on bearer: ATTBearer) -> HandleRange {
    let isOpen = bearer.model.traits.hasOpenGroups
    return HandleRange(
      start: attribute.handle, end: bearer.model.table.groupEnd(of: attribute, isOpen: isOpen))
  }

  private func attributes(
    in range: HandleRange, on bearer: ATTBearer
  ) throws(Refusal) -> [AttributeTable.Attribute] {
    guard range.start > 0, range.start <= range.end else {
      throw Refusal(.invalidHandle, handle: range.start)
    }
    return bearer.model.table.attributes(in: range)
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
