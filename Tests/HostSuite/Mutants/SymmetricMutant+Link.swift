import Conformance
import SuiteWire

extension SymmetricMutant {
  static let link: [SymmetricMutant] = [
    SymmetricMutant(
      "seq-from-1", "DATA is numbered from 1", "LNK-30", device: "LNK-30/numbers-wrap",
      host: "LNK-30/host-numbers",
      numbers { frame, step in
        if frame.kind == .data { frame.seq &+= step }
        if frame.carriesACK { frame.ack &+= step }
      }),
    SymmetricMutant(
      "ack-last", "ack is the last number received, not the next one expected", "LNK-30",
      device: "LNK-30/numbers-wrap", host: "LNK-30/host-numbers",
      numbers { frame, step in if frame.carriesACK { frame.ack &-= step } }),
    SymmetricMutant(
      "credit-plus-one", "credit counts the frame that is being acknowledged", "LNK-40",
      device: "LNK-40/credit-when-handled", host: "LNK-40/host-credit",
      SymmetricCodec(
        onSend: { frame in if frame.carriesACK { frame.credit &+= 1 } },
        onReceive: { frame in if frame.carriesACK, frame.credit > 0 { frame.credit -= 1 } })),
    SymmetricMutant(
      "bitmap-from-ack", "Bit i of a NAK is the frame ack + i", "LNK-33", device: "LNK-34/nak-bitmap",
      host: "LNK-34/host-nak-bitmap",
      SymmetricCodec(
        onSend: { frame in frame.changeBitmap { $0 << 1 } },
        onReceive: { frame in frame.changeBitmap { $0 >> 1 } })),
    SymmetricMutant(
      "handled-plus-one", "PONG counts the frame that is to be handled next", "LNK-52", device: "LNK-52/pong",
      host: "LNK-52/host-handled",
      numbers { frame, step in
        if frame.kind == .pong, !frame.payload.isEmpty { frame.payload[0] &+= step }
      }),
    SymmetricMutant(
      "ping-is-pong", "PING and PONG have each other's type numbers", "LNK-52", device: "LNK-52/pong",
      host: "LNK-52/host-pings",
      SymmetricCodec(both: { frame in
        switch frame.kind {
        case .ping: frame.kind = .pong
        case .pong: frame.kind = .ping
        case .hello, .syn, .synAck, .data, .ack, .nak, .udata, .rst, .fin: break
        }
      })),
    SymmetricMutant(
      "nonce-plus-one", "An answer carries the nonce plus one", "LNK-12", "LNK-15",
      device: "LNK-12/session-id", host: "LNK-15/other-nonce",
      numbers { frame, step in
        guard frame.kind == .synAck || frame.kind == .rst else { return }
        frame.changeTLVs { if $0.type == 0x82 { $0 = .nonce(Wire.number($0.value) &+ signed(step)) } }
      }),
    SymmetricMutant(
      "session-swapped", "SYNACK has the session id with its bytes swapped", "LNK-12",
      device: "LNK-12/session-id", host: "LNK-12/host-takes-the-session",
      SymmetricCodec(both: { if $0.kind == .synAck { $0.session = $0.session.byteSwapped } })),
    SymmetricMutant(
      "version-2", "The version is 2", "LNK-12", "LNK-6", device: "LNK-12/session-id", host: "LNK-6/host-syn",
      SymmetricCodec(both: { frame in
        frame.changeTLVs {
          guard $0.type == 0x83 || $0.type == 0x84 else { return }
          $0.value = $0.value.map { $0 == 1 ? 2 : $0 == 2 ? 1 : $0 }
        }
      })),
    SymmetricMutant(
      "tlvs-shifted", "The TLVs that are not critical have the next number", "LNK-5",
      device: "LNK-1/synack-layout", host: "LNK-6/host-syn",
      SymmetricCodec(
        onSend: { frame in frame.changeTLVs { if $0.type < 0x7F { $0.type += 1 } } },
        onReceive: { frame in frame.changeTLVs { if (1..<0x80).contains($0.type) { $0.type -= 1 } } })),
    SymmetricMutant(
      "limits-order", "LIMITS has requests before frames", "LNK-8", device: "LNK-8/limits-announced",
      host: "LNK-6/host-syn",
      SymmetricCodec(both: { frame in
        frame.changeTLVs {
          if $0.type == 0x06, $0.value.count >= 2 { $0.value.swapAt(0, 1) }
        }
      })),
    SymmetricMutant(
      "att-on-channel-3", "Attribute PDUs go on channel 3", "ATT-1", device: "ATT-1/one-pdu-a-frame",
      host: "NTF-6/host-json",
      SymmetricCodec(both: { frame in
        guard frame.kind == .data else { return }
        frame.channel = frame.channel == 4 ? 3 : frame.channel == 3 ? 4 : frame.channel
      })),
  ]

  /// A step of an octet for a number of eight of them.
  private static func signed(_ step: UInt8) -> UInt64 { UInt64(bitPattern: Int64(Int8(bitPattern: step))) }

  /// A number that is increased when it is sent, and decreased again when it is received.
  static func numbers(_ change: @escaping @Sendable (inout WireFrame, _ step: UInt8) -> Void)
    -> SymmetricCodec
  {
    SymmetricCodec(onSend: { change(&$0, 1) }, onReceive: { change(&$0, 255) })
  }
}

extension WireFrame {
  /// Whether ack and credit have a meaning (LNK-2); SYNACK's are the device's first.
  fileprivate var carriesACK: Bool {
    switch kind {
    case .data, .ack, .nak, .ping, .pong, .fin: true
    case .hello, .syn, .synAck, .udata, .rst: false
    }
  }

  /// Changes each TLV; payloads without TLVs are not changed.
  fileprivate mutating func changeTLVs(_ change: (inout TLV) -> Void) {
    guard [.hello, .syn, .synAck, .rst].contains(kind), var tlvs = TLV.parse(payload) else { return }
    for index in tlvs.indices { change(&tlvs[index]) }
    payload = tlvs.payload
  }

  fileprivate mutating func changeBitmap(_ change: (UInt64) -> UInt64) {
    guard kind == .nak, payload.count >= 8 else { return }
    payload = Wire.u64(change(Wire.number(payload))) + payload.dropFirst(8)
  }
}
