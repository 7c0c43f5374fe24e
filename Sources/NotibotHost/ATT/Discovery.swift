import NotibotProtocol

/// Finds the service, its two characteristics and their CCCDs by UUID, one request at a time.
///
/// States: *service* → *characteristics* → *descriptors* → found. Every answer must advance to
/// higher handles, and there are at most `requestsLimit` requests, so that no device can keep a
/// host busy indefinitely. Source: PROTOCOL.md ATT-2, ATT-9.
struct Discovery: Equatable, Sendable {
  enum Progress: Equatable {
    /// `request` is the next one.
    case more
    case found(AttributeHandles)
    /// The device has no such service or characteristic.
    case missing
    /// The answer does not fit the request.
    case malformed
    /// `requestsLimit` requests were not enough.
    case endless
  }

  private struct Characteristic: Equatable {
    var declaration: UInt16
    var value: UInt16
    var uuid: BluetoothUUID
  }

  private enum State: Equatable {
    case service(from: UInt16)
    case characteristics(from: UInt16, service: HandleRange, found: [Characteristic])
    case descriptors(from: UInt16, Descriptors)
  }

  private struct Descriptors: Equatable {
    var handles: AttributeHandles
    /// The handle ranges still to be searched, in order.
    var countEnd: UInt16
    var dataEnd: UInt16
    var end: UInt16 { max(countEnd, dataEnd) }
  }

  /// Characteristics in one service, at most.
  private static let characteristicsLimit = 64
  /// Requests in one discovery, at most. At MTU 23 a response holds one service or one
  /// characteristic with a UUID of 16 bytes, or five descriptors: this is enough for 64 services in
  /// front of Notibot's, `characteristicsLimit` characteristics and 500 descriptors, while a table
  /// of 65535 attributes, one in each response, would take a minute.
  static let requestsLimit = 256

  private var state = State.service(from: 1)
  private var answers = 0

  /// The request that awaits its answer.
  var request: ATTPDU {
    switch state {
    case .service(let from):
      .readByGroupTypeRequest(HandleRange(start: from, end: 0xFFFF), type: .primaryService)
    case .characteristics(let from, let service, _):
      .readByTypeRequest(HandleRange(start: from, end: service.end), type: .characteristic)
    case .descriptors(let from, let descriptors):
      .findInformationRequest(HandleRange(start: from, end: descriptors.end))
    }
  }

  /// Takes the answer to `request`: a response of its kind, or an Error Response.
  mutating func receive(_ answer: ATTPDU) -> Progress {
    answers += 1
    let progress = handle(answer)
    return progress == .more && answers >= Self.requestsLimit ? .endless : progress
  }

  private mutating func handle(_ answer: ATTPDU) -> Progress {
    switch (state, answer) {
    case (.service(let from), .readByGroupTypeResponse(let groups)):
      return receive(groups, from: from)
    case (.characteristics(let from, let service, let found), .readByTypeResponse(let values)):
      return receive(values, from: from, service: service, found: found)
    case (.characteristics(_, let service, let found), .errorResponse(_, _, .attributeNotFound)):
      return finishCharacteristics(found, service: service)
    case (.descriptors(let from, let descriptors), .findInformationResponse(let types)):
      return receive(types, from: from, descriptors: descriptors)
    case (.descriptors(_, let descriptors), .errorResponse(_, _, .attributeNotFound)):
      return .found(descriptors.handles)
    case (_, .errorResponse): return .missing
    case _: return .malformed
    }
  }

  private mutating func receive(_ groups: [ATTPDU.AttributeGroup], from: UInt16) -> Progress {
    var last = from
    for group in groups {
      guard group.handles.start >= last, group.handles.end >= group.handles.start else { return .malformed }
      if BluetoothUUID(littleEndian: group.value) == NotibotProfile.service {
        state = .characteristics(from: group.handles.start, service: group.handles, found: [])
        return .more
      }
      last = group.handles.end
    }
    guard last < 0xFFFF else { return .missing }
    state = .service(from: last + 1)
    return .more
  }

  private mutating func receive(
    _ values: [ATTPDU.AttributeValue], from: UInt16, service: HandleRange, found: [Characteristic]
  ) -> Progress {
    var found = found
    var next = from
    for entry in values {
      // Properties, value handle, UUID of 2 or 16 bytes.
      guard entry.handle >= next, entry.handle <= service.end,
        let value = entry.value.littleEndian(at: 1, as: UInt16.self), value > entry.handle,
        let uuid = BluetoothUUID(littleEndian: Array(entry.value.dropFirst(3)))
      else { return .malformed }
      guard found.count < Self.characteristicsLimit else { return .missing }
      found.append(Characteristic(declaration: entry.handle, value: value, uuid: uuid))
      guard entry.handle < service.end else { return finishCharacteristics(found, service: service) }
      next = entry.handle + 1
    }
    state = .characteristics(from: next, service: service, found: found)
    return .more
  }

  private mutating func finishCharacteristics(_ found: [Characteristic], service: HandleRange) -> Progress {
    guard let count = found.firstIndex(where: { $0.uuid == NotibotProfile.count }),
      let data = found.firstIndex(where: { $0.uuid == NotibotProfile.data })
    else { return .missing }
    // A characteristic reaches up to the declaration of the next one.
    func end(of index: Int) -> UInt16 {
      index + 1 < found.count ? found[index + 1].declaration - 1 : service.end
    }
    let descriptors = Descriptors(
      handles: AttributeHandles(count: found[count].value, data: found[data].value),
      countEnd: end(of: count), dataEnd: end(of: data))
    let first = min(found[count].value, found[data].value)
    guard first < descriptors.end else { return .found(descriptors.handles) }
    state = .descriptors(from: first + 1, descriptors)
    return .more
  }

  private mutating func receive(
    _ types: [ATTPDU.AttributeType], from: UInt16, descriptors: Descriptors
  ) -> Progress {
    var descriptors = descriptors
    var next = from
    for entry in types {
      guard entry.handle >= next, entry.handle <= descriptors.end else { return .malformed }
      if entry.type == .clientCharacteristicConfiguration {
        let handles = descriptors.handles
        if entry.handle > handles.count, entry.handle <= descriptors.countEnd {
          descriptors.handles.countCCCD = handles.countCCCD ?? entry.handle
        } else if entry.handle > handles.data, entry.handle <= descriptors.dataEnd {
          descriptors.handles.dataCCCD = handles.dataCCCD ?? entry.handle
        }
      }
      guard entry.handle < descriptors.end else { return .found(descriptors.handles) }
      next = entry.handle + 1
    }
    state = .descriptors(from: next, descriptors)
    return .more
  }
}
