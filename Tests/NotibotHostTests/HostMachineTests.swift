import NotibotProtocol
import Testing

@testable import NotibotHost

struct HostMachineTests {
  @Test func `a session is open after Exchange MTU, and the count can be read`() {
    var device = ScriptedDevice.makeOpening()
    #expect(device.sent.map(\.header.type) == [.syn])
    device.receive(ScriptedDevice.synack(nonce: device.nonce()))
    #expect(device.drainSent().dropFirst().map(\.header.type) == [.ack, .data])
    device.receive(ScriptedDevice.pdu([0x03, 0x05, 0x02], sequence: 0, ack: 1))
    guard case .opened(let info)? = device.drainActions().first else {
      Issue.record("not opened")
      return
    }
    #expect(info.mtu == 517)
    #expect(info.bootID == ScriptedDevice.bootID)
    let id = device.submit(.readCount)
    #expect(device.drainSent().last?.payload == [0x0A, 0x03, 0x00])
    device.receive(ScriptedDevice.pdu([0x0B, 0x2A, 0x01], sequence: 1, ack: 2))
    #expect(device.drainActions() == [.completed(id, .count(298))])
  }

  @Test func `a notification is written as JSON and the answer ends the request`() {
    var device = ScriptedDevice.makeReady()
    let notification = DisplayNotification(app: "A", title: "B", text: "C", timestamp: 7)
    let id = device.submit(.send(notification))
    let json = Array(#"{"app":"A","title":"B","text":"C","timestamp":7}"#.utf8)
    #expect(device.drainSent().map(\.payload) == [[0x12, 0x06, 0x00] + json])
    #expect(device.drainActions().isEmpty)
    device.receive(ScriptedDevice.pdu([0x13], sequence: 1, ack: 2))
    #expect(device.drainActions() == [.completed(id, .accepted)])
  }

  @Test func `a refused notification has the error of the device`() {
    var device = ScriptedDevice.makeReady()
    let id = device.submit(.sendEncoded([0x7B]))
    device.receive(ScriptedDevice.pdu([0x01, 0x12, 0x06, 0x00, 0x80], sequence: 1, ack: 2))
    #expect(device.drainActions() == [.completed(id, .refused(.notANotification))])
  }

  @Test func `another boot id ends the session, fails requests in flight, and a new session opens`() {
    var device = ScriptedDevice.makeReady()
    let sent = device.submit(.readCount)
    device.receive(ScriptedDevice.hello(bootID: 2))
    #expect(
      device.drainActions() == [
        .completed(sent, .failed(.outcomeUnknown(.deviceRestarted(bootID: 2)))),
        .ended(.deviceRestarted(bootID: 2)),
      ])
    let first = device.drainSent()
    device.connect()
    #expect(device.sent.map(\.header.type) == [.syn])
    #expect(first.isEmpty == false)
    device.receive(ScriptedDevice.synack(nonce: device.nonce(), session: 9, bootID: 2))
    _ = device.drainSent()
    let mtu = ScriptedDevice.frame(
      .data, channel: .att, session: 9, sequence: 0, ack: 1, payload: [0x03, 0x05, 0x02])
    device.receive(mtu)
    guard case .opened(let info)? = device.drainActions().first else {
      Issue.record("not opened again")
      return
    }
    #expect(info.bootID == 2)
  }

  @Test func `connecting does nothing while a session is opening, open or closing`() {
    var opening = ScriptedDevice.makeOpening()
    let open = ScriptedDevice.makeReady()
    var closing = open
    closing.close()
    for var device in [opening, open, closing] {
      _ = device.drainSent()
      #expect(!device.machine.isClosed)
      device.connect()
      #expect(device.drainSent().isEmpty)
    }
    opening.pass(.seconds(2))
    #expect(opening.machine.isClosed)
  }

  @Test func `a silent port ends the attempt after two seconds`() {
    var device = ScriptedDevice.makeOpening()
    device.pass(.milliseconds(1999))
    #expect(device.drainActions().isEmpty)
    device.pass(.milliseconds(1))
    #expect(device.drainActions() == [.ended(.noAnswer)])
    #expect(device.machine.nextDeadline == nil)
  }

  @Test func `console text is delivered completely, even if it looked like a frame for a second`() {
    var device = ScriptedDevice.makeReady()
    device.receive(Array("I (12) boot\n".utf8) + [0] + [0x03, 0x48])
    #expect(device.drainActions() == [.text(Array("I (12) boot\n".utf8))])
    device.pass(.milliseconds(1000))
    #expect(device.drainActions().isEmpty)
    device.pass(.milliseconds(20))
    #expect(device.drainActions() == [.text([0x03, 0x48])])
  }

  @Test func `closing sends FIN and ends with its acknowledgement`() {
    var device = ScriptedDevice.makeReady()
    device.close()
    #expect(device.drainSent().map(\.header.type) == [.fin])
    device.receive(ScriptedDevice.frame(.ack, ack: 1))
    #expect(device.drainActions() == [.ended(.closed)])
  }

  @Test func `the bytes of both directions are counted, in all pieces`() {
    var machine = HostMachine(configuration: HostConfiguration(), seed: 1)
    for count in 1...3 { machine.receive([UInt8](repeating: 0x41, count: count), now: .zero) }
    machine.connect(now: .zero)
    var sentBytes = 0
    for _ in 0..<3 {
      while let action = machine.nextAction() {
        if case .write(let bytes) = action { sentBytes += bytes.count }
      }
      if let deadline = machine.nextDeadline { machine.handleTimeout(now: deadline) }
    }
    #expect(machine.statistics.bytesReceived == 6)
    #expect(machine.statistics.bytesSent == sentBytes)
  }

  @Test(arguments: [(1000, false), (2000, false), (5000, true)])
  func `an application is stalled only if a PONG came after its last progress`(pongMs: Int, isStalled: Bool) {
    var device = ScriptedDevice.makeReady()
    for moment in stride(from: 500, through: 12_500, by: 500) {
      device.pass(.zero + .milliseconds(moment) - device.now)
      if moment == 2000 {
        device.submit(.readCount)
        device.receive(ScriptedDevice.frame(.ack, ack: 2))
      }
      let ack: UInt8 = moment < 2000 ? 1 : 2
      if moment == pongMs {
        device.receive(ScriptedDevice.frame(.pong, ack: ack, payload: [1]))
      } else {
        device.receive(ScriptedDevice.frame(.ping, ack: ack))
      }
    }
    #expect(device.drainActions().contains(.ended(.applicationStalled)) == isStalled)
  }
}
