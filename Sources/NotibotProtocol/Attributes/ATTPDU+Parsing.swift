extension ATTPDU {
  /// Parses a PDU. An unknown opcode is kept; a known one whose parameters do not fit its format
  /// throws. Source: PROTOCOL.md ATT-15, ATT-16.
  package init(parsing bytes: [UInt8]) throws(WireError) {
    var fields = try PDUFields(bytes)
    switch ATTOpcode(rawValue: fields.opcode) {
    case .errorResponse:
      let (request, handle) = (try fields.byte(), try fields.number())
      self = .errorResponse(request: request, handle: handle, error: ATTError(rawValue: try fields.byte()))
    case .exchangeMTURequest: self = .exchangeMTURequest(mtu: try fields.number())
    case .exchangeMTUResponse: self = .exchangeMTUResponse(mtu: try fields.number())
    case .findInformationRequest: self = .findInformationRequest(try fields.range())
    case .findInformationResponse: self = try .findInformationResponse(fields.attributeTypes())
    case .findByTypeValueRequest:
      let (range, type) = (try fields.range(), try fields.number())
      self = .findByTypeValueRequest(range, type: type, value: fields.rest())
    case .findByTypeValueResponse: self = .findByTypeValueResponse(try fields.ranges())
    case .readByTypeRequest:
      let range = try fields.range()
      self = .readByTypeRequest(range, type: try fields.uuid())
    case .readByTypeResponse: self = try .readByTypeResponse(fields.attributeValues())
    case .readRequest: self = .readRequest(handle: try fields.number())
    case .readResponse: self = .readResponse(fields.rest())
    case .readBlobRequest:
      let handle = try fields.number()
      self = .readBlobRequest(handle: handle, offset: try fields.number())
    case .readBlobResponse: self = .readBlobResponse(fields.rest())
    case .readByGroupTypeRequest:
      let range = try fields.range()
      self = .readByGroupTypeRequest(range, type: try fields.uuid())
    case .readByGroupTypeResponse: self = try .readByGroupTypeResponse(fields.attributeGroups())
    case .writeRequest: self = .writeRequest(handle: try fields.number(), value: fields.rest())
    case .writeResponse: self = .writeResponse
    case .prepareWriteRequest:
      let (handle, offset) = (try fields.number(), try fields.number())
      self = .prepareWriteRequest(handle: handle, offset: offset, value: fields.rest())
    case .prepareWriteResponse:
      let (handle, offset) = (try fields.number(), try fields.number())
      self = .prepareWriteResponse(handle: handle, offset: offset, value: fields.rest())
    case .executeWriteRequest: self = .executeWriteRequest(try fields.executeFlag())
    case .executeWriteResponse: self = .executeWriteResponse
    case .handleValueNotification:
      self = .handleValueNotification(handle: try fields.number(), value: fields.rest())
    case .handleValueIndication:
      self = .handleValueIndication(handle: try fields.number(), value: fields.rest())
    case .handleValueConfirmation: self = .handleValueConfirmation
    case .writeCommand: self = .writeCommand(handle: try fields.number(), value: fields.rest())
    case .readMultipleRequest, .readMultipleResponse, .readMultipleVariableRequest,
      .readMultipleVariableResponse, .multipleHandleValueNotification, .signedWriteCommand, nil:
      self = .unknown(opcode: fields.opcode, parameters: fields.rest())
    }
    try fields.expectEnd()
  }
}

/// Reads a PDU's parameters from the front.
private struct PDUFields {
  let opcode: UInt8
  private let bytes: [UInt8]
  private var offset = 1

  init(_ bytes: [UInt8]) throws(WireError) {
    guard let opcode = bytes.first else { throw .tooShort(expectedBytes: 1, actualBytes: 0) }
    self.opcode = opcode
    self.bytes = bytes
  }

  private var remaining: Int {
    bytes.count - offset
  }

  mutating func byte() throws(WireError) -> UInt8 {
    guard remaining >= 1 else { throw .tooShort(expectedBytes: offset + 1, actualBytes: bytes.count) }
    offset += 1
    return bytes[offset - 1]
  }

  mutating func number() throws(WireError) -> UInt16 {
    guard let value = bytes.littleEndian(at: offset, as: UInt16.self) else {
      throw .tooShort(expectedBytes: offset + 2, actualBytes: bytes.count)
    }
    offset += 2
    return value
  }

  mutating func range() throws(WireError) -> HandleRange {
    HandleRange(start: try number(), end: try number())
  }

  mutating func rest() -> [UInt8] {
    popBytes(remaining)
  }

  /// The remaining bytes as a UUID of 2 or 16 bytes.
  mutating func uuid() throws(WireError) -> BluetoothUUID {
    guard remaining >= 2 else { throw .tooShort(expectedBytes: offset + 2, actualBytes: bytes.count) }
    guard let uuid = BluetoothUUID(littleEndian: Array(bytes[offset...])) else {
      throw .badField(name: "UUID length", value: remaining)
    }
    offset = bytes.count
    return uuid
  }

  mutating func executeFlag() throws(WireError) -> ATTPDU.ExecuteFlag {
    let value = try byte()
    guard let flag = ATTPDU.ExecuteFlag(rawValue: value) else {
      throw .badField(name: "execute flags", value: Int(value))
    }
    return flag
  }

  mutating func ranges() throws(WireError) -> [HandleRange] {
    try entries(ofBytes: 4).map { HandleRange(start: $0.number(at: 0), end: $0.number(at: 2)) }
  }

  mutating func attributeTypes() throws(WireError) -> [ATTPDU.AttributeType] {
    let format = try byte()
    guard format == 1 || format == 2 else { throw .badField(name: "format", value: Int(format)) }
    return try entries(ofBytes: format == 1 ? 4 : 18).compactMap { entry in
      BluetoothUUID(littleEndian: Array(entry[2...])).map { .init(handle: entry.number(at: 0), type: $0) }
    }
  }

  mutating func attributeValues() throws(WireError) -> [ATTPDU.AttributeValue] {
    try entries(ofBytes: entryLength(atLeast: 2)).map {
      .init(handle: $0.number(at: 0), value: Array($0[2...]))
    }
  }

  mutating func attributeGroups() throws(WireError) -> [ATTPDU.AttributeGroup] {
    try entries(ofBytes: entryLength(atLeast: 4)).map {
      .init(handles: HandleRange(start: $0.number(at: 0), end: $0.number(at: 2)), value: Array($0[4...]))
    }
  }

  func expectEnd() throws(WireError) {
    guard remaining == 0 else { throw .tooLong(expectedBytes: offset, actualBytes: bytes.count) }
  }

  private mutating func entryLength(atLeast minimum: Int) throws(WireError) -> Int {
    let length = Int(try byte())
    guard length >= minimum else { throw .badField(name: "entry length", value: length) }
    return length
  }

  /// The remaining bytes as entries of `lengthBytes`; at least one, and no partial entry.
  private mutating func entries(ofBytes lengthBytes: Int) throws(WireError) -> [[UInt8]] {
    guard remaining >= lengthBytes else {
      throw .tooShort(expectedBytes: offset + lengthBytes, actualBytes: bytes.count)
    }
    guard remaining % lengthBytes == 0 else { throw .badField(name: "list length", value: remaining) }
    var entries: [[UInt8]] = []
    while remaining > 0 { entries.append(popBytes(lengthBytes)) }
    return entries
  }

  private mutating func popBytes(_ lengthBytes: Int) -> [UInt8] {
    defer { offset += lengthBytes }
    return Array(bytes[offset..<(offset + lengthBytes)])
  }
}

extension [UInt8] {
  /// The number at `offset` of an entry whose length was checked.
  fileprivate func number(at offset: Int) -> UInt16 {
    UInt16(self[offset]) | UInt16(self[offset + 1]) << 8
  }
}
