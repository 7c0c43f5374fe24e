import SuiteWire

/// The handles of a device whose service does not begin at 1. Cases are written with the handles of
/// PROTOCOL.md's table, 1 to 7; the PDUs on the line have those of the device.
///
/// A handle of a case outside of the table becomes one where no attribute is, and a range is cut to
/// the service: a case sees a server that has nothing else.
package struct HandleMap: Equatable, Sendable {
  private static let count: UInt16 = 7
  /// The first handle of the service, at most.
  package static let lastFirst = UInt16.max - (count - 1)
  private static let declarations: [UInt16] = [2, 5]

  /// The handle of the service on the device, 1 to `lastFirst`.
  package let first: UInt16
  /// The latest handle of the case that no attribute has: an error can name it.
  private var outside: UInt16 = 0

  package init(first: UInt16 = 1) { self.first = first }

  /// Where no attribute is. Other services are in front of ours if it is the last one.
  private var nowhere: UInt16 { first == Self.lastFirst ? 0xFF00 : .max }

  /// On the device.
  package func device(_ listed: UInt16) -> UInt16 { first - 1 + listed }

  private mutating func sent(_ handle: UInt16) -> UInt16 {
    if handle == 0 { return 0 }
    if handle <= Self.count { return device(handle) }
    outside = handle
    return nowhere
  }

  private func received(_ handle: UInt16) -> UInt16 {
    if handle >= first, handle - first < Self.count { return handle - first + 1 }
    // Of another attribute of the device; not mistaken for one of ours.
    return (1...Self.count).contains(handle) ? 0xFE00 | handle : handle
  }

  // MARK: PDUs

  /// A PDU of a case as the device gets it.
  package mutating func sent(_ pdu: [UInt8]) -> [UInt8] {
    guard first != 1, let opcode = pdu.first else { return pdu }
    var pdu = pdu
    switch opcode {
    case 0x04, 0x06, 0x08, 0x10:
      guard pdu.count >= 5 else { break }
      pdu.replaceSubrange(1..<5, with: range(Wire.word(pdu, at: 1), Wire.word(pdu, at: 3)))
      // The value of a declaration.
      if opcode == 0x06, Wire.word(pdu, at: 5) == 0x2803, pdu.count >= 10 { replace(&pdu, at: 8) }
    case 0x0A, 0x0C, 0x12, 0x16, 0x1B, 0x1D, 0x52, 0xD2:
      if pdu.count >= 3 { replace(&pdu, at: 1) }
    case 0x0E, 0x20:
      for index in stride(from: 1, to: pdu.count - 1, by: 2) { replace(&pdu, at: index) }
    case _: break
    }
    return pdu
  }

  private mutating func replace(_ pdu: inout [UInt8], at index: Int) {
    pdu.replaceSubrange(index..<index + 2, with: Wire.u16(sent(Wire.word(pdu, at: index))))
  }

  /// As wrong as before, or cut to the service.
  private mutating func range(_ start: UInt16, _ end: UInt16) -> [UInt8] {
    let from = sent(start)
    if start == 0 || start > end { return Wire.u16(from) + Wire.u16(start > end && end > 0 ? from - 1 : end) }
    guard start <= Self.count else { return Wire.u16(from) + Wire.u16(from) }
    return Wire.u16(from) + Wire.u16(device(min(end, Self.count)))
  }

  /// A PDU of the device as the case gets it.
  package func received(_ pdu: [UInt8]) -> [UInt8] {
    guard first != 1, let opcode = pdu.first else { return pdu }
    switch opcode {
    case 0x01 where pdu.count == 5:
      let isOutside = Wire.word(pdu, at: 2) == nowhere && outside != 0
      return isOutside ? pdu[..<2] + Wire.u16(outside) + pdu[4...] : translated(pdu, at: [2])
    case 0x17, 0x1B, 0x1D: return pdu.count >= 3 ? translated(pdu, at: [1]) : pdu
    case 0x0B, 0x0D: return pdu[..<1] + declared(pdu[1...])
    case 0x05 where pdu.count > 2: return entries(pdu, from: 2, length: pdu[1] == 1 ? 4 : 18, handles: 1)
    case 0x07: return entries(pdu, from: 1, length: 4, handles: 2)
    case 0x09 where pdu.count > 2: return entries(pdu, from: 2, length: Int(pdu[1]), handles: 1)
    case 0x11 where pdu.count > 2: return entries(pdu, from: 2, length: Int(pdu[1]), handles: 2)
    case _: return pdu
    }
  }

  private func translated(_ pdu: [UInt8], at indices: [Int]) -> [UInt8] {
    var pdu = pdu
    for index in indices where index + 2 <= pdu.count {
      pdu.replaceSubrange(index..<index + 2, with: Wire.u16(received(Wire.word(pdu, at: index))))
    }
    return pdu
  }

  private func entries(_ pdu: [UInt8], from start: Int, length: Int, handles: Int) -> [UInt8] {
    guard length >= 2 * handles else { return pdu }
    var result = Array(pdu[..<start])
    for index in stride(from: start, to: pdu.count, by: length) {
      let entry = Array(pdu[index..<min(index + length, pdu.count)])
      let named = translated(entry, at: handles == 1 ? [0] : [0, 2])
      result += named.prefix(2 * handles) + declared(named.dropFirst(2 * handles))
    }
    return result
  }

  /// A value of which a declaration, or its end from an offset, has the handle of its own value. No
  /// other value ends with the UUID of a characteristic.
  private func declared(_ value: ArraySlice<UInt8>) -> [UInt8] {
    let value = Array(value)
    for (listed, uuid) in zip(Self.declarations, [Suite.count, Suite.data]) {
      let (there, here) = (Wire.u16(device(listed + 1)), Wire.u16(listed + 1))
      for start in 0...2 where value.count == 19 - start && value.suffix(16) == uuid[...] {
        let kept = max(0, 1 - start)
        let (cut, whole) = (value[kept..<3 - start], there.suffix(3 - start - kept))
        guard Array(cut) == Array(whole) else { return value }
        return value[..<kept] + here.suffix(3 - start - kept) + uuid
      }
    }
    return value
  }
}

extension Probe {
  /// Finds the service of the device by its UUID (ATT-2), on an open bearer.
  ///
  /// - Returns: handles from 1 if the service is there, or is not found: then the cases say so.
  /// - Throws: a finding if its attributes are not the seven of the table, without gaps.
  package func findService(file: String = #fileID, line: Int = #line) async throws -> HandleMap {
    let ours = HandleMap()
    guard try await request([0x0A, 1, 0]) != [0x0B] + Suite.service else { return ours }
    let found = try await request(Wire.literal("06 0100 ffff 0028") + Suite.service)
    guard found.first == 0x07, found.count >= 5 else { return ours }
    let first = Wire.word(found, at: 1)
    guard first > 1, first <= HandleMap.lastFirst else { return ours }
    let map = HandleMap(first: first)
    let range = Wire.u16(first) + Wire.u16(map.device(7))
    let declared = [(2, 3, Suite.count), (5, 6, Suite.data)] as [(UInt16, UInt16, [UInt8])]
    for (declaration, value, uuid) in declared {
      let answer = try await request([0x0A] + Wire.u16(map.device(declaration)))
      guard answer.count == 20, Array(answer[2...]) == Wire.u16(map.device(value)) + uuid else {
        throw Self.unusable(first, file, line)
      }
    }
    let cccds = try await request([0x08] + range + [0x02, 0x29])
    guard cccds.starts(with: [0x09, 4] + Wire.u16(map.device(4))), cccds.count == 10,
      Wire.word(cccds, at: 6) == map.device(7)
    else { throw Self.unusable(first, file, line) }
    return map
  }

  private static func unusable(_ first: UInt16, _ file: String, _ line: Int) -> CaseEnd {
    .fault(
      "its service begins at handle \(first), but service, Count, Data and their CCCDs have not seven "
        + "handles in a row", file: file, line: line)
  }
}
