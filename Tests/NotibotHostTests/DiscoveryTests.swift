import NotibotProtocol
import Testing

@testable import NotibotHost

/// Finding service, characteristics and CCCDs by UUID. Source: PROTOCOL.md ATT-2, ATT-9.
struct DiscoveryTests {
  // Least significant byte first, as on the wire.
  private let service: [UInt8] = [
    0x4B, 0x91, 0x31, 0xC3, 0xC9, 0xC5, 0xCC, 0x8F, 0x9E, 0x45, 0xB5, 0x1F, 0x01, 0xC2, 0xAF, 0x4F,
  ]
  private let count: [UInt8] = [
    0xA8, 0x26, 0x1B, 0x36, 0x07, 0xEA, 0xF5, 0xB7, 0x88, 0x46, 0xE1, 0x36, 0x3E, 0x48, 0xB5, 0xBE,
  ]
  private let data: [UInt8] = [
    0x7E, 0xE8, 0x7B, 0x5D, 0x2E, 0x7A, 0x3D, 0xBF, 0x3A, 0x41, 0xF7, 0xD8, 0xE3, 0xD5, 0x95, 0x1C,
  ]

  /// Plays requests and answers in turn; returns the device after the last answer.
  private func play(_ dialogue: [(question: [UInt8], answer: [UInt8])]) -> ScriptedDevice {
    var device = ScriptedDevice.makeLinked(profileHash: 0x1234_5678)
    _ = device.drainSent()
    device.receive(ScriptedDevice.pdu([0x03, 23, 0], sequence: 0, ack: 1))
    var number: UInt8 = 1
    for (question, answer) in dialogue {
      #expect(device.drainSent().filter { $0.header.type == .data }.map(\.payload) == [question])
      #expect(device.drainActions().isEmpty)
      device.receive(ScriptedDevice.pdu(answer, sequence: number, ack: number + 1))
      number += 1
    }
    return device
  }

  private func services() -> (question: [UInt8], answer: [UInt8]) {
    // Generic Access first, then the service at 0x10...0x1F.
    ([0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28], [0x11, 6, 1, 0, 5, 0, 0x00, 0x18])
  }

  @Test func `a device with other handles is used with its own`() {
    var device = play([
      services(),
      ([0x10, 6, 0, 0xFF, 0xFF, 0x00, 0x28], [0x11, 20, 0x10, 0, 0x1F, 0] + service),
      ([0x08, 0x10, 0, 0x1F, 0, 0x03, 0x28], [0x09, 21, 0x11, 0, 0x18, 0x12, 0] + data),
      ([0x08, 0x12, 0, 0x1F, 0, 0x03, 0x28], [0x09, 21, 0x15, 0, 0x12, 0x16, 0] + count),
      ([0x08, 0x16, 0, 0x1F, 0, 0x03, 0x28], [0x01, 0x08, 0x16, 0, 0x0A]),
      // A user description (0x2901) precedes the CCCD of Data.
      ([0x04, 0x13, 0, 0x1F, 0], [0x05, 1, 0x13, 0, 0x01, 0x29, 0x14, 0, 0x02, 0x29]),
      ([0x04, 0x15, 0, 0x1F, 0], [0x05, 1, 0x15, 0, 0x03, 0x28, 0x17, 0, 0x02, 0x29]),
      ([0x04, 0x18, 0, 0x1F, 0], [0x01, 0x04, 0x18, 0, 0x0A]),
    ])
    guard case .opened? = device.drainActions().first else {
      Issue.record("not opened")
      return
    }
    device.submit(.readCount)
    device.submit(.subscribe(.count))
    device.submit(.subscribe(.data))
    device.submit(.sendEncoded([0x7B, 0x7D]))
    #expect(
      device.drainSent().map(\.payload) == [
        [0x0A, 0x16, 0], [0x12, 0x17, 0, 1, 0], [0x12, 0x14, 0, 1, 0], [0x12, 0x12, 0, 0x7B, 0x7D],
      ])
  }

  @Test func `a device without CCCDs can still be written to`() {
    var device = play([
      ([0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28], [0x11, 20, 1, 0, 5, 0] + service),
      ([0x08, 1, 0, 5, 0, 0x03, 0x28], [0x09, 21, 2, 0, 0x02, 3, 0] + count),
      ([0x08, 3, 0, 5, 0, 0x03, 0x28], [0x09, 21, 4, 0, 0x08, 5, 0] + data),
      ([0x08, 5, 0, 5, 0, 0x03, 0x28], [0x01, 0x08, 5, 0, 0x0A]),
      ([0x04, 4, 0, 5, 0], [0x01, 0x04, 4, 0, 0x0A]),
    ])
    guard case .opened? = device.drainActions().first else {
      Issue.record("not opened")
      return
    }
    let id = device.submit(.subscribe(.count))
    #expect(device.drainActions() == [.completed(id, .failed(.unsupported))])
  }

  @Test func `nothing is asked beyond the end of the service`() {
    // The last characteristic is declared at the last handle; the next request looks for CCCDs.
    var device = play([
      ([0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28], [0x11, 20, 1, 0, 4, 0] + service),
      ([0x08, 1, 0, 4, 0, 0x03, 0x28], [0x09, 21, 2, 0, 0x02, 3, 0] + count),
      ([0x08, 3, 0, 4, 0, 0x03, 0x28], [0x09, 21, 4, 0, 0x08, 5, 0] + data),
      ([0x04, 4, 0, 4, 0], [0x01, 0x04, 4, 0, 0x0A]),
    ])
    guard case .opened? = device.drainActions().first else {
      Issue.record("not opened")
      return
    }
    // The last handle is a CCCD.
    device = play([
      ([0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28], [0x11, 20, 1, 0, 6, 0] + service),
      ([0x08, 1, 0, 6, 0, 0x03, 0x28], [0x09, 21, 2, 0, 0x02, 3, 0] + count),
      ([0x08, 3, 0, 6, 0, 0x03, 0x28], [0x09, 21, 4, 0, 0x08, 5, 0] + data),
      ([0x08, 5, 0, 6, 0, 0x03, 0x28], [0x01, 0x08, 5, 0, 0x0A]),
      ([0x04, 4, 0, 6, 0], [0x05, 1, 4, 0, 0x03, 0x28, 5, 0, 0x01, 0x29, 6, 0, 0x02, 0x29]),
    ])
    guard case .opened? = device.drainActions().first else {
      Issue.record("not opened")
      return
    }
    #expect(device.drainSent().filter { $0.header.type == .data } == [])
  }

  @Test func `a device without the service is distinguished from one that does not answer`() {
    var device = play([
      services(), ([0x10, 6, 0, 0xFF, 0xFF, 0x00, 0x28], [0x01, 0x10, 6, 0, 0x0A]),
    ])
    #expect(device.drainActions() == [.ended(.profileMissing)])
  }

  @Test func `a service without the characteristics is not a Notibot service`() {
    var device = play([
      ([0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28], [0x11, 20, 1, 0, 5, 0] + service),
      ([0x08, 1, 0, 5, 0, 0x03, 0x28], [0x01, 0x08, 1, 0, 0x0A]),
    ])
    #expect(device.drainActions() == [.ended(.profileMissing)])
  }

  @Test(arguments: [
    // Handles that go back or do not advance, and an end before its start.
    [UInt8(0x11), 6, 9, 0, 9, 0, 0x00, 0x18, 3, 0, 4, 0, 0x01, 0x18],
    [0x11, 6, 0, 0, 0, 0, 0x00, 0x18], [0x11, 6, 9, 0, 8, 0, 0x00, 0x18],
  ])
  func `answers without progress break the bearer`(answer: [UInt8]) {
    var device = play([([0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28], answer)])
    #expect(device.drainActions() == [.ended(.bearerBroken(.malformedAnswer(opcode: 0x10)))])
  }

  @Test func `a characteristic whose value is its declaration breaks the bearer`() {
    var device = play([
      ([0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28], [0x11, 20, 1, 0, 5, 0] + service),
      ([0x08, 1, 0, 5, 0, 0x03, 0x28], [0x09, 21, 2, 0, 0x02, 2, 0] + count),
    ])
    #expect(device.drainActions() == [.ended(.bearerBroken(.malformedAnswer(opcode: 0x08)))])
  }

  @Test func `a value with the type of a CCCD is not one`() {
    var device = play([
      ([0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28], [0x11, 20, 1, 0, 7, 0] + service),
      ([0x08, 1, 0, 7, 0, 0x03, 0x28], [0x09, 21, 2, 0, 0x08, 3, 0] + data),
      ([0x08, 3, 0, 7, 0, 0x03, 0x28], [0x09, 21, 5, 0, 0x02, 6, 0] + count),
      ([0x08, 6, 0, 7, 0, 0x03, 0x28], [0x01, 0x08, 6, 0, 0x0A]),
      (
        [0x04, 4, 0, 7, 0],
        [0x05, 1, 4, 0, 0x02, 0x29, 5, 0, 0x03, 0x28, 6, 0, 0x02, 0x29, 7, 0, 0x02, 0x29]
      ),
    ])
    device.submit(.subscribe(.count))
    #expect(device.drainSent().map(\.payload) == [[0x12, 7, 0, 1, 0]])
  }

  @Test func `an endless list of services ends the search`() {
    var device = ScriptedDevice.makeLinked(profileHash: 0x1234_5678)
    _ = device.drainSent()
    device.receive(ScriptedDevice.pdu([0x03, 23, 0], sequence: 0, ack: 1))
    var requests = 0
    while device.drainSent().contains(where: { $0.header.type == .data }) {
      requests += 1
      let handle = UInt16(requests)
      let (low, high) = (UInt8(handle & 0xFF), UInt8(handle >> 8))
      let number = UInt8(truncatingIfNeeded: requests)
      device.receive(
        ScriptedDevice.pdu([0x11, 6, low, high, low, high, 0x01, 0x18], sequence: number, ack: number &+ 1))
    }
    #expect(requests == 256)
    #expect(device.drainActions() == [.ended(.bearerBroken(.endlessDiscovery(requests: 256)))])
  }

  @Test func `a service that fills the handles ends the search`() {
    var device = play([
      ([0x10, 1, 0, 0xFF, 0xFF, 0x00, 0x28], [0x11, 6, 1, 0, 0xFF, 0xFF, 0x00, 0x18])
    ])
    #expect(device.drainActions() == [.ended(.profileMissing)])
  }

  @Test func `a known profile needs no discovery`() {
    var device = ScriptedDevice.makeLinked()
    _ = device.drainSent()
    device.receive(ScriptedDevice.pdu([0x03, 23, 0], sequence: 0, ack: 1))
    #expect(device.drainSent().filter { $0.header.type == .data }.isEmpty)
    guard case .opened? = device.drainActions().first else {
      Issue.record("not opened")
      return
    }
  }

  @Test func `a device without a profile hash is discovered`() {
    var device = ScriptedDevice.makeLinked(profileHash: nil)
    _ = device.drainSent()
    device.receive(ScriptedDevice.pdu([0x03, 23, 0], sequence: 0, ack: 1))
    #expect(device.drainSent().last?.payload.first == 0x10)
  }
}
