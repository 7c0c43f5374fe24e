import Conformance
import SuiteWire

extension SymmetricMutant {
  static let attributes: [SymmetricMutant] = [
    SymmetricMutant(
      "uuid-order", "UUIDs are sent most significant byte first", "ATT-1", "ATT-2",
      device: "ATT-2/primary-service",
      host: "ATT-2/host-discovers",
      pdus { pdu in
        for uuid in [Suite.service, Suite.count, Suite.data] {
          let reversed = Array(uuid.reversed())
          pdu = replacing(uuid, in: pdu, by: reversed) ?? replacing(reversed, in: pdu, by: uuid) ?? pdu
        }
      }),
    SymmetricMutant(
      "handles-plus-one", "The service begins at handle 2", "ATT-2", device: "ATT-2/primary-service",
      host: "ATT-4/host-knows-the-hash",
      SymmetricCodec(
        onSend: changingPDU { HandleMap.change(&$0) { $0 == 0 || $0 == 0xFFFF ? $0 : $0 + 1 } },
        onReceive: changingPDU { HandleMap.change(&$0) { $0 == 0 || $0 == 0xFFFF ? $0 : $0 - 1 } })),
    SymmetricMutant(
      "handles-swapped", "Data comes before Count in the table", "ATT-2", device: "ATT-2/characteristics",
      host: "ATT-4/host-knows-the-hash",
      pdus { HandleMap.change(&$0) { (2...4).contains($0) ? $0 + 3 : (5...7).contains($0) ? $0 - 3 : $0 } }),
    SymmetricMutant(
      "count-big-endian", "The values of Count and of a CCCD are read most significant byte first", "NTF-10",
      device: "NTF-1/stored-and-counted", host: "NTF-11/host-events",
      pdus { pdu in
        let isRead = pdu.first == 0x0B && pdu.count == 3
        let isNotified = pdu.starts(with: [0x1B, 3, 0]) && pdu.count == 5
        if isRead || isNotified { pdu.swapAt(pdu.count - 1, pdu.count - 2) }
      }),
    SymmetricMutant(
      "mtu-big-endian", "Exchange MTU has its MTU most significant byte first", "ATT-8",
      device: "ATT-8/exchange-mtu", host: "ATT-8/host-mtu",
      pdus { pdu in if pdu.count == 3, pdu[0] == 0x02 || pdu[0] == 0x03 { pdu.swapAt(1, 2) } }),
    SymmetricMutant(
      "error-layout", "An Error Response has its code before the handle", "ATT-5",
      device: "ATT-11/permissions", host: "NTF-1/host-reports-refusals",
      SymmetricCodec(
        onSend: changingPDU { if $0.count == 5, $0[0] == 1 { $0 = [$0[0], $0[1], $0[4], $0[2], $0[3]] } },
        onReceive: changingPDU { if $0.count == 5, $0[0] == 1 { $0 = [$0[0], $0[1], $0[3], $0[4], $0[2]] } })),
    SymmetricMutant(
      "error-80-is-0e", "An invalid notification is error 0x0E", "NTF-4", device: "NTF-4/not-json",
      host: "NTF-1/host-reports-refusals",
      pdus { pdu in
        guard pdu.count == 5, pdu[0] == 0x01 else { return }
        pdu[4] = pdu[4] == 0x80 ? 0x0E : pdu[4] == 0x0E ? 0x80 : pdu[4]
      }),
    SymmetricMutant(
      "body-for-text", "The text of a notification has the key body", "NTF-1", "NTF-6",
      device: "NTF-1/stored-and-counted", host: "NTF-6/host-json",
      pdus { pdu in
        let (text, body) = (Array("\"text\":".utf8), Array("\"body\":".utf8))
        pdu = replacing(text, in: pdu, by: body) ?? replacing(body, in: pdu, by: text) ?? pdu
      }),
    SymmetricMutant(
      "title-for-app", "app and title have each other's keys", "NTF-3", device: "NTF-3/length-limits",
      host: "NTF-7/host-cuts",
      pdus { pdu in
        let (app, title, other) = (
          Array("\"app\":".utf8), Array("\"title\":".utf8), Array("\"\u{1}\":".utf8)
        )
        guard let held = replacing(app, in: pdu, by: other) else { return }
        pdu = replacing(title, in: held, by: app).flatMap { replacing(other, in: $0, by: title) } ?? pdu
      }),
  ]

  static let identities: [SymmetricMutant] = [
    SymmetricMutant(
      "digest-from-nothing", "A digest begins with the hash of nothing", "NTF-32",
      device: "NTF-32/digest-of-the-page", host: "NTF-31/host-sync-first",
      SymmetricCodec(
        onSend: digests { $0 &+ 0xE220_A839_7B1D_CDAF }, onReceive: digests { $0 &- 0xE220_A839_7B1D_CDAF })),
    SymmetricMutant(
      "digest-big-endian", "A digest is sent most significant byte first", "NTF-32",
      device: "NTF-32/digest-of-the-page", host: "NTF-31/host-sync-first",
      SymmetricCodec(onSend: digests(\.byteSwapped), onReceive: digests(\.byteSwapped))),
    SymmetricMutant(
      "kinds-swapped", "RESYNC and GONE have each other's numbers", "NTF-30", device: "NTF-26/beyond-mtu",
      host: "NTF-33/host-resync",
      SymmetricCodec(both: { frame in
        guard frame.kind == .data, frame.channel == 0, let kind = frame.payload.first else { return }
        frame.payload[0] = kind == 3 ? 4 : kind == 4 ? 3 : kind
      })),
    SymmetricMutant(
      "removal-is-d", "A removal has ev d", "NTF-24", device: "NTF-24/removed", host: "NTF-23/host-changes",
      pdus { pdu in
        let (removed, deleted) = (Array("\"ev\":\"r\"".utf8), Array("\"ev\":\"d\"".utf8))
        pdu = replacing(removed, in: pdu, by: deleted) ?? replacing(deleted, in: pdu, by: removed) ?? pdu
      }),
    SymmetricMutant(
      "src-key", "The key src is called fro", "NTF-21", "NTF-26", device: "NTF-21/src-key",
      host: "NTF-26/host-confirms-gone",
      pdus { pdu in
        let (src, from) = (Array("\"src\":".utf8), Array("\"fro\":".utf8))
        pdu = replacing(src, in: pdu, by: from) ?? replacing(from, in: pdu, by: src) ?? pdu
      }),
  ]

  /// A self-inverse change of attribute PDUs.
  private static func pdus(_ change: @escaping @Sendable (inout [UInt8]) -> Void) -> SymmetricCodec {
    SymmetricCodec(both: changingPDU(change))
  }

  private static func changingPDU(_ change: @escaping @Sendable (inout [UInt8]) -> Void)
    -> @Sendable (inout WireFrame) -> Void
  {
    { if $0.kind == .data, $0.channel == 4 { change(&$0.payload) } }
  }

  /// A change of the digests in SYNC and SYNCED.
  private static func digests(_ change: @escaping @Sendable (UInt64) -> UInt64)
    -> @Sendable (inout WireFrame) -> Void
  {
    { frame in
      guard frame.kind == .data, frame.channel == 0 else { return }
      let offsets: [UInt8: Int] = [1: 11, 2: 7]
      guard let offset = frame.payload.first.flatMap({ offsets[$0] }), frame.payload.count >= offset + 8
      else { return }
      let range = offset..<(offset + 8)
      frame.payload.replaceSubrange(range, with: Wire.u64(change(Wire.number(Array(frame.payload[range])))))
    }
  }

  /// The bytes with the first occurrence of `part` replaced; nil if there is none.
  private static func replacing(_ part: [UInt8], in bytes: [UInt8], by other: [UInt8]) -> [UInt8]? {
    guard let start = bytes.firstRange(of: part)?.lowerBound else { return nil }
    return bytes[..<start] + other + bytes[(start + part.count)...]
  }
}

/// The positions of handles in PDUs.
private enum HandleMap {
  static func change(_ pdu: inout [UInt8], _ map: (UInt16) -> UInt16) {
    guard let opcode = pdu.first else { return }
    switch opcode {
    case 0x01: put(&pdu, at: 2, map)
    case 0x04, 0x06, 0x08, 0x10:
      put(&pdu, at: 1, map)
      put(&pdu, at: 3, map)
    case 0x0A, 0x0C, 0x12, 0x16, 0x17, 0x1B, 0x52: put(&pdu, at: 1, map)
    case 0x05: changeEntries(&pdu, from: 2, size: pdu.count > 1 && pdu[1] == 1 ? 4 : 18, [0], map)
    case 0x07: changeEntries(&pdu, from: 1, size: 4, [0, 2], map)
    case 0x09 where pdu.count > 1 && pdu[1] == 21: changeEntries(&pdu, from: 2, size: 21, [0, 3], map)
    case 0x09 where pdu.count > 1: changeEntries(&pdu, from: 2, size: Int(pdu[1]), [0], map)
    case 0x11 where pdu.count > 1: changeEntries(&pdu, from: 2, size: Int(pdu[1]), [0, 2], map)
    case _: break
    }
  }

  private static func changeEntries(
    _ pdu: inout [UInt8], from start: Int, size: Int, _ offsets: [Int], _ map: (UInt16) -> UInt16
  ) {
    for entry in stride(from: start, to: pdu.count, by: max(size, 1)) {
      for offset in offsets { put(&pdu, at: entry + offset, map) }
    }
  }

  private static func put(_ pdu: inout [UInt8], at offset: Int, _ map: (UInt16) -> UInt16) {
    guard offset + 1 < pdu.count else { return }
    pdu.replaceSubrange(offset...(offset + 1), with: Wire.u16(map(Wire.word(pdu, at: offset))))
  }
}
