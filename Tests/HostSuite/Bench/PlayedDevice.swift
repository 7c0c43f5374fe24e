package import Conformance
import NotibotProtocol
package import SuiteWire

/// A bench whose case plays the device, step by step, against a part of the host. The device
/// answers nothing on its own.
package protocol PlayedDevice: AnyObject {
  /// The case's end of the line, acting as a device.
  var probe: Probe { get }
  /// The session id of the next SYNACK.
  var sessionID: UInt16 { get }
  var bootID: UInt32 { get }
}

extension PlayedDevice {
  /// The TLVs of a usual SYNACK.
  package func synAckTLVs(
    nonce: UInt64, features: UInt32 = 1, frames: UInt8 = 16, requests: UInt8 = 8, mtu: UInt16 = 517,
    bytes: UInt32 = 4096, profileHash: UInt32 = 0x7D92_E27D
  ) -> [TLV] {
    [
      .magic, .nonce(nonce), .version(1), .features(features),
      .limits(frames: frames, requests: requests, mtu: mtu, bytes: bytes), .profileHash(profileHash),
      .bootID(bootID),
    ]
  }

  /// A SYNACK with any payload and the session's id.
  package func synAck(_ tlvs: [TLV], credit: UInt8 = 16) -> WireFrame {
    WireFrame(kind: .synAck, sender: .device, session: sessionID, credit: credit, payload: tlvs.payload)
  }

  /// A HELLO or RST with the given boot id.
  package func hello(bootID: UInt32) -> WireFrame {
    WireFrame(kind: .hello, sender: .device, payload: [TLV.magic, .versions(1, 1), .bootID(bootID)].payload)
  }

  package func rst(session: UInt16, reason: UInt8, also: [TLV] = []) -> WireFrame {
    let tlvs = [TLV.magic] + also + [.versions(1, 1), .reason(reason)]
    return WireFrame(kind: .rst, sender: .device, session: session, payload: tlvs.payload)
  }

  /// The nonce of the next SYN.
  package func awaitSyn(file: String = #fileID, line: Int = #line) async throws -> UInt64 {
    let syn = try await probe.awaitFrame(.syn, file: file, line: line)
    return try probe.require(
      TLV.parse(syn.payload)?.number(of: 0x82), "the SYN has no NONCE", file: file, line: line)
  }

  /// Answers the next SYN; returns when the host's first ACK is there.
  ///
  /// - Returns: the TLVs of the SYN.
  @discardableResult
  package func answerSyn(
    credit: UInt8 = 16, file: String = #fileID, line: Int = #line, _ tlvs: ((UInt64) -> [TLV])? = nil
  ) async throws -> [TLV] {
    let syn = try await probe.awaitFrame(.syn, file: file, line: line)
    let requested = TLV.parse(syn.payload) ?? []
    let nonce = try probe.require(requested.number(of: 0x82), "the SYN has no NONCE", file: file, line: line)
    let announced = tlvs?(nonce) ?? synAckTLVs(nonce: nonce)
    try await probe.write(synAck(announced, credit: credit))
    probe.session = ProbeSession(id: sessionID, nonce: nonce, announced: announced)
    probe.session.credit = credit
    let ack = try await probe.awaitFrame("ACK of the session", file: file, line: line) {
      $0.kind == .ack && $0.session == sessionID
    }
    probe.session.observe(ack)
    return requested
  }

  /// Answers the host's requests as a device with ATT-2's table would, until a condition is true.
  package func serve(
    file: String = #fileID, line: Int = #line, until isDone: () -> Bool
  ) async throws {
    let deadline = probe.now + Probe.patience
    while !isDone() {
      guard let pdu = try await probe.nextPDU(until: deadline) else {
        throw CaseEnd.fault("the host sends no further request", file: file, line: line)
      }
      guard let answer = ScriptedServer.answer(to: pdu, mtu: probe.session.announced.mtu) else { continue }
      try await probe.sendData(answer)
    }
  }

  /// Lets virtual time pass and answers PINGs, nothing else. Returns every other received frame.
  package func idle(for interval: Duration) async throws -> [WireFrame] {
    let deadline = probe.now + interval
    var others: [WireFrame] = []
    while let frame = try await probe.nextFrame(until: deadline) {
      if frame.kind == .ping {
        try await probe.write(probe.frame(.pong, payload: [probe.session.expectedSeq]))
      } else {
        others.append(frame)
      }
    }
    return others
  }
}

extension [TLV] {
  /// The MTU in LIMITS; default: 23 (LNK-6).
  fileprivate var mtu: UInt16 { value(of: 0x06).map { Wire.word($0, at: 2) } ?? 23 }
}

/// Answers of ATT-2's table, as literals.
package enum ScriptedServer {
  /// The answer to a request; nil if it is not a request.
  package static func answer(to pdu: [UInt8], mtu: UInt16) -> [UInt8]? {
    switch pdu.first {
    case 0x02: [0x03] + Wire.u16(mtu)
    case 0x04: informationAnswer(pdu)
    case 0x06: Wire.literal("07 0100 0700")
    case 0x08: characteristicsAnswer(pdu)
    case 0x0A: Wire.literal("0b 0700")
    case 0x10:
      Wire.word(pdu, at: 1) <= 1
        ? Wire.literal("11 14 0100 0700") + Suite.service : [0x01, 0x10] + pdu[1...2] + [0x0A]
    case 0x12: [0x13]
    case 0x16: [0x17] + pdu.dropFirst()
    case 0x18: [0x19]
    case _: nil
    }
  }

  private static func characteristicsAnswer(_ pdu: [UInt8]) -> [UInt8] {
    switch Wire.word(pdu, at: 1) {
    case ...2: Wire.literal("09 15 0200 12 0300") + Suite.count
    case 3...5: Wire.literal("09 15 0500 18 0600") + Suite.data
    case _: [0x01, 0x08] + pdu[1...2] + [0x0A]
    }
  }

  private static func informationAnswer(_ pdu: [UInt8]) -> [UInt8] {
    switch Wire.word(pdu, at: 1) {
    case 4: Wire.literal("05 01 0400 0229")
    case 7: Wire.literal("05 01 0700 0229")
    case _: [0x01, 0x04] + pdu[1...2] + [0x0A]
    }
  }
}
