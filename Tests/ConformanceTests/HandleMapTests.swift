import Conformance
import SuiteWire
import Testing

/// The handles of cases, and those of a device whose service begins elsewhere.
@Suite struct HandleMapTests {
  private static let nowhere = "ffff"
  private static let service = Wire.hex(Suite.service)
  private static let count = Wire.hex(Suite.count)
  private static let data = Wire.hex(Suite.data)

  /// What a case sends, what a device from 14 (0e) on receives, its answer, what the case gets.
  private static let exchanges: [(String, String, String, String)] = [
    ("0a0300", "0a1000", "0b0500", "0b0500"), ("0c03000100", "0c10000100", "0d00", "0d00"),
    ("12060041", "12130041", "13", "13"), ("52060041", "52130041", "13", "13"),
    ("1606000000aabb", "1613000000aabb", "1713000000aabb", "1706000000aabb"),
    ("1801", "1801", "0118130007", "0118060007"),
    // Nothing is there, and the error names what the case has asked for.
    ("0a0800", "0a" + nowhere, "010affff01", "010a080001"), ("0a0000", "0a0000", "010a000001", "010a000001"),
    ("0a0e00", "0a" + nowhere, "010affff01", "010a0e0001"),
    ("0aff00", "0a" + nowhere, "010affff01", "010aff0001"),
    // Too short for a handle.
    ("0a03", "0a03", "010a000004", "010a000004"), ("0a", "0a", "010a000004", "010a000004"),
    // Ranges are cut to the service.
    ("100100ffff0028", "100e0014000028", "11140e001400" + service, "111401000700" + service),
    ("100800ffff0028", "10ffffffff0028", "0110ffff0a", "011008000a"),
    ("0405000400", "0412001100", "0104120001", "0104050001"),
    ("040000ffff", "040000ffff", "0104000001", "0104000001"),
    ("0407000000", "0414000000", "0104140001", "0104070001"),
    ("0404000700", "0411001400", "050111000229", "050104000229"),
    ("040300ffff", "0410001400", "05021000" + count, "05020300" + count),
    ("060100ffff0028" + service, "060e0014000028" + service, "070e001400", "0701000700"),
    ("060100ffff0028" + service, "060e0014000028" + service, "070e00ffff", "070100ffff"),
    ("060100ffff0328120300" + count, "060e0014000328121000" + count, "070f000f00", "0702000200"),
    ("080100ffff0229", "080e0014000229", "090411000000" + "14000100", "090404000000" + "07000100"),
    // A declaration has the handle of its value.
    ("0801000700" + "0328", "080e001400" + "0328", "09150f00121000" + count, "09150200120300" + count),
    ("0a0200", "0a0f00", "0b121000" + count, "0b120300" + count),
    ("0c02000100", "0c0f000100", "0d1000" + count, "0d0300" + count),
    ("0c02000200", "0c0f000200", "0d00" + count, "0d00" + count),
    ("0c02000300", "0c0f000300", "0d" + count, "0d" + count),
    ("0c05000000", "0c12000000", "0d181300" + data, "0d180600" + data),
    // One with another value's handle is as wrong to the case.
    ("0a0500", "0a1200", "0b181000" + data, "0b181000" + data),
    ("0e03000600", "0e10001300", "010e000006", "010e000006"),
    ("1d03000500", "1d10000500", "1b10000500", "1b03000500"),
    // Of another service; not one of ours.
    ("1e", "1e", "1d03000100", "1d03fe0100"),
  ]

  @Test(arguments: exchanges.indices)
  func `handles of a PDU and of its answer are translated`(index: Int) {
    let (sent, received, answer, expected) = Self.exchanges[index]
    var map = HandleMap(first: 14)
    #expect(Wire.hex(map.sent(Wire.literal(sent))) == received)
    #expect(Wire.hex(map.received(Wire.literal(answer))) == expected)
    var same = HandleMap()
    #expect(Wire.hex(same.sent(Wire.literal(sent))) == sent)
    #expect(Wire.hex(same.received(Wire.literal(expected))) == expected)
  }

  @Test func `a shift across 256 changes both bytes of a handle`() {
    let map = HandleMap(first: 0xFE)
    #expect(Wire.hex(map.received(Wire.literal("0d01" + Self.count))) == "0d00" + Self.count)
    #expect(Wire.hex(map.received(Wire.literal("0b120001" + Self.count))) == "0b120300" + Self.count)
  }

  @Test func `behind the last service nothing is, in front of it neither`() {
    var map = HandleMap(first: HandleMap.lastFirst)
    #expect(Wire.hex(map.sent(Wire.literal("0affff"))) == "0a00ff")
    #expect(Wire.hex(map.received(Wire.literal("010a00ff01"))) == "010affff01")
    #expect(Wire.hex(map.received(Wire.literal("07f9ffffff"))) == "0701000700")
  }

  @Test func `any bytes are translated without a trap`() {
    for first in [1, 14, HandleMap.lastFirst] as [UInt16] {
      var map = HandleMap(first: first)
      for opcode in 0...255 as ClosedRange<UInt8> {
        for length in 0...24 {
          let pdu = [opcode] + (0..<length).map { UInt8($0) }
          #expect(map.sent(pdu).count == pdu.count && map.received(pdu).count == pdu.count)
        }
      }
      #expect(map.sent([]) == [] && map.received([]) == [])
    }
  }
}
