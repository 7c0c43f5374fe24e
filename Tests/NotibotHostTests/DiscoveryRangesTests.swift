import NotibotProtocol
import Testing

@testable import NotibotHost

/// The limits of handles, characteristics and descriptors in a discovery. Source: PROTOCOL.md
/// ATT-2, ATT-9.
struct DiscoveryRangesTests {
  private static let other = BluetoothUUID.short(0x2A00)
  private static let cccd = BluetoothUUID.clientCharacteristicConfiguration

  private static func characteristic(
    _ handle: UInt16, value: UInt16, _ uuid: BluetoothUUID
  ) -> ATTPDU.AttributeValue {
    ATTPDU.AttributeValue(
      handle: handle, value: [0x12] + BluetoothUUID.short(value).littleEndian + uuid.littleEndian)
  }

  /// A discovery that has found the service.
  private static func makeDiscovery(service: HandleRange) -> Discovery {
    var discovery = Discovery()
    let group = ATTPDU.AttributeGroup(handles: service, value: NotibotProfile.service.littleEndian)
    #expect(discovery.receive(.readByGroupTypeResponse([group])) == .more)
    return discovery
  }

  /// The result for a service that ends at `end`, whose characteristics come one by one, and whose
  /// descriptors of the type CCCD come in one answer.
  private static func result(
    end: UInt16, _ characteristics: [ATTPDU.AttributeValue], cccds: [UInt16]
  ) -> Discovery.Progress {
    var discovery = makeDiscovery(service: HandleRange(start: 1, end: end))
    for entry in characteristics {
      let progress = discovery.receive(.readByTypeResponse([entry]))
      if progress != .more { return progress }
    }
    if case .readByTypeRequest = discovery.request {
      let progress = discovery.receive(.errorResponse(request: 0x08, handle: 1, error: .attributeNotFound))
      if progress != .more { return progress }
    }
    let types = cccds.map { ATTPDU.AttributeType(handle: $0, type: cccd) }
    let progress = discovery.receive(.findInformationResponse(types))
    guard progress == .more else { return progress }
    return discovery.receive(.errorResponse(request: 0x04, handle: 1, error: .attributeNotFound))
  }

  private static func found(
    count: UInt16, _ countCCCD: UInt16?, data: UInt16, _ dataCCCD: UInt16?
  ) -> Discovery.Progress {
    .found(AttributeHandles(count: count, countCCCD: countCCCD, data: data, dataCCCD: dataCCCD))
  }

  @Test func `the CCCD of a characteristic between the two belongs to neither`() {
    let between = [
      Self.characteristic(2, value: 3, NotibotProfile.count), Self.characteristic(4, value: 5, Self.other),
      Self.characteristic(7, value: 8, NotibotProfile.data),
    ]
    #expect(Self.result(end: 10, between, cccds: [6]) == Self.found(count: 3, nil, data: 8, nil))
    #expect(Self.result(end: 10, between, cccds: [6, 9]) == Self.found(count: 3, nil, data: 8, 9))
    #expect(Self.result(end: 10, between, cccds: [6, 10]) == Self.found(count: 3, nil, data: 8, 10))
    let reversed = [
      Self.characteristic(2, value: 3, NotibotProfile.data), Self.characteristic(4, value: 5, Self.other),
      Self.characteristic(7, value: 8, NotibotProfile.count),
    ]
    #expect(Self.result(end: 10, reversed, cccds: [6, 9]) == Self.found(count: 8, 9, data: 3, nil))
  }

  @Test func `a CCCD lies above the value, and below the next declaration`() {
    for dataFirst in [false, true] {
      let uuids = [NotibotProfile.count, NotibotProfile.data]
      let characteristics = [
        Self.characteristic(2, value: 3, uuids[dataFirst ? 1 : 0]),
        Self.characteristic(6, value: 7, uuids[dataFirst ? 0 : 1]),
      ]
      let places: [(cccds: [UInt16], first: UInt16?, second: UInt16?)] = [
        ([4, 8], 4, 8), ([5, 9], 5, 9), ([4, 5, 8, 9], 4, 8), ([6], nil, nil), ([7], nil, nil),
      ]
      for (cccds, first, second) in places {
        let expected =
          dataFirst
          ? Self.found(count: 7, second, data: 3, first) : Self.found(count: 3, first, data: 7, second)
        #expect(Self.result(end: 9, characteristics, cccds: cccds) == expected, "\(dataFirst), \(cccds)")
      }
    }
  }

  @Test func `a service that ends with its values has no descriptors`() {
    for value in [UInt16(4), 9] {
      let characteristics = [
        Self.characteristic(2, value: value, NotibotProfile.count),
        Self.characteristic(3, value: value, NotibotProfile.data),
      ]
      var discovery = Self.makeDiscovery(service: HandleRange(start: 1, end: 4))
      #expect(discovery.receive(.readByTypeResponse(characteristics)) == .more)
      #expect(
        discovery.receive(.errorResponse(request: 0x08, handle: 4, error: .attributeNotFound))
          == Self.found(count: value, nil, data: value, nil))
    }
  }

  @Test func `a characteristic whose value is below its declaration, or outside of the search, is an error`()
  {
    let wrong = [
      Self.characteristic(3, value: 2, NotibotProfile.count), Self.characteristic(1, value: 3, Self.other),
      Self.characteristic(11, value: 12, Self.other),
    ]
    for entry in wrong {
      var discovery = Self.makeDiscovery(service: HandleRange(start: 2, end: 10))
      #expect(discovery.receive(.readByTypeResponse([entry])) == .malformed)
    }
  }

  @Test func `characteristics at the first and the last handle of the search are taken`() {
    var discovery = Self.makeDiscovery(service: HandleRange(start: 2, end: 5))
    let first = Self.characteristic(2, value: 3, NotibotProfile.data)
    #expect(discovery.receive(.readByTypeResponse([first])) == .more)
    #expect(
      discovery.request
        == .readByTypeRequest(HandleRange(start: 3, end: 5), type: .characteristic))
    let others = [
      Self.characteristic(3, value: 4, Self.other), Self.characteristic(5, value: 6, NotibotProfile.count),
    ]
    #expect(discovery.receive(.readByTypeResponse(others)) == .more)
    #expect(discovery.request == .findInformationRequest(HandleRange(start: 4, end: 5)))
  }

  @Test func `a service has at most 64 characteristics`() {
    for count in [64, 65] as [UInt16] {
      var discovery = Self.makeDiscovery(service: HandleRange(start: 1, end: 1000))
      let all = (1...count).map { Self.characteristic($0 * 3, value: $0 * 3 + 1, Self.other) }
      #expect(discovery.receive(.readByTypeResponse(all)) == (count == 64 ? .more : .missing))
    }
  }

  @Test func `a service of one handle is skipped, and the search goes on behind it`() {
    var discovery = Discovery()
    let groups = ([(1, 1), (2, 5), (9, 9)] as [(UInt16, UInt16)]).map { start, end in
      ATTPDU.AttributeGroup(handles: HandleRange(start: start, end: end), value: [0, 0x18])
    }
    #expect(discovery.receive(.readByGroupTypeResponse(groups)) == .more)
    #expect(
      discovery.request
        == .readByGroupTypeRequest(HandleRange(start: 10, end: 0xFFFF), type: .primaryService))
  }

  @Test func `descriptors outside of the search are an error`() {
    for handle in [UInt16(3), 10] {
      let characteristics = [
        Self.characteristic(2, value: 3, NotibotProfile.count),
        Self.characteristic(6, value: 7, NotibotProfile.data),
      ]
      #expect(Self.result(end: 9, characteristics, cccds: [handle]) == .malformed)
    }
  }
}
