extension ATTPDU {
  /// The bytes on the wire. Entries of a list must be of one size: an answer holds no others
  /// (ATT-9).
  package func encoded() -> [UInt8] {
    var bytes = [opcode]
    encodeParameters(into: &bytes)
    return bytes
  }

  private func encodeParameters(into bytes: inout [UInt8]) {
    switch self {
    case .errorResponse(let request, let handle, let error):
      bytes.append(request)
      bytes.appendLittleEndian(handle)
      bytes.append(error.rawValue)
    case .exchangeMTURequest(let mtu), .exchangeMTUResponse(let mtu):
      bytes.appendLittleEndian(mtu)
    case .findInformationRequest(let range):
      bytes.append(range)
    case .findByTypeValueRequest(let range, let type, let value):
      bytes.append(range)
      bytes.appendLittleEndian(type)
      bytes.append(contentsOf: value)
    case .readByTypeRequest(let range, let type), .readByGroupTypeRequest(let range, let type):
      bytes.append(range)
      bytes.append(contentsOf: type.littleEndian)
    case .readRequest(let handle):
      bytes.appendLittleEndian(handle)
    case .readBlobRequest(let handle, let offset):
      bytes.appendLittleEndian(handle)
      bytes.appendLittleEndian(offset)
    case .readResponse(let value), .readBlobResponse(let value), .unknown(_, let value):
      bytes.append(contentsOf: value)
    case .writeRequest(let handle, let value), .writeCommand(let handle, let value),
      .handleValueNotification(let handle, let value), .handleValueIndication(let handle, let value):
      bytes.appendLittleEndian(handle)
      bytes.append(contentsOf: value)
    case .prepareWriteRequest(let handle, let offset, let value),
      .prepareWriteResponse(let handle, let offset, let value):
      bytes.appendLittleEndian(handle)
      bytes.appendLittleEndian(offset)
      bytes.append(contentsOf: value)
    case .executeWriteRequest(let flag):
      bytes.append(flag.rawValue)
    case .writeResponse, .executeWriteResponse, .handleValueConfirmation:
      break
    case .findInformationResponse(let entries):
      bytes.append(entries.first?.type.lengthBytes == 16 ? 2 : 1)
      for entry in entries {
        bytes.appendLittleEndian(entry.handle)
        bytes.append(contentsOf: entry.type.littleEndian)
      }
    case .findByTypeValueResponse(let ranges):
      for range in ranges { bytes.append(range) }
    case .readByTypeResponse(let entries):
      bytes.append(entryLength(entries.first?.value.count, handleBytes: 2))
      for entry in entries {
        bytes.appendLittleEndian(entry.handle)
        bytes.append(contentsOf: entry.value)
      }
    case .readByGroupTypeResponse(let entries):
      bytes.append(entryLength(entries.first?.value.count, handleBytes: 4))
      for entry in entries {
        bytes.append(entry.handles)
        bytes.append(contentsOf: entry.value)
      }
    }
  }

  /// The length byte of a list; traps if an entry is longer than 255 bytes: the server cuts them.
  private func entryLength(_ valueBytes: Int?, handleBytes: Int) -> UInt8 {
    UInt8(handleBytes + (valueBytes ?? 0))
  }
}

extension [UInt8] {
  fileprivate mutating func append(_ range: HandleRange) {
    appendLittleEndian(range.start)
    appendLittleEndian(range.end)
  }
}
