import NotibotProtocol

@testable import DeviceEmulator

/// The service's UUID, least significant byte first.
let serviceUUID = "4b9131c3c9c5cc8f9e45b51f01c2af4f"
let countUUID = "a8261b3607eaf5b78846e1363e48b5be"
let dataUUID = "7ee87b5d2e7a3dbf3a41f7d8e3d5951c"

/// An attribute server with one bearer and an interface in hexadecimal.
struct ATTRig {
  var server: ATTServer

  /// - Parameter mtu: the client's MTU in the first exchange; nil leaves the bearer at 23.
  init(
    mtu: UInt16? = 517, serverMTU: UInt16 = 517, mode: DeviceMode = .strict, capacity: Int = 64,
    model: ServerModel = .own
  ) {
    server = ATTServer(
      mtu: serverMTU, mode: mode, store: NotificationStore(capacity: capacity, policy: .refuseWhenFull))
    server.open(.serial, model: model)
    if let mtu { _ = server.receive([0x02] + mtu.littleEndianBytes, on: .serial) }
  }

  /// The response in hexadecimal; nil if there is none.
  mutating func ask(_ request: String, on bearer: BearerID = .serial) -> String? {
    ask(bytes(request), on: bearer)
  }

  /// The response in hexadecimal; nil if there is none.
  mutating func ask(_ request: [UInt8], on bearer: BearerID = .serial) -> String? {
    server.receive(request, on: bearer).map { hex($0).lowercased() }
  }

  /// A Write Request to Data.
  mutating func write(_ json: some Sequence<UInt8>) -> String? {
    ask([0x12, 0x06, 0x00] + json)
  }

  /// Every pending notification, in hexadecimal.
  mutating func notifications(for bearer: BearerID = .serial) -> [String] {
    var found: [String] = []
    while let outgoing = server.nextUnsolicited(for: bearer) {
      found.append(hex(outgoing.payload).lowercased())
    }
    return found
  }
}

/// A valid notification of exactly this many bytes, 60 to 512.
func json(ofBytes count: Int) -> [UInt8] {
  let frame = #"{"app":"","title":"","text":"","timestamp":1}"#
  let text = String(repeating: "x", count: count - frame.utf8.count)
  return Array(#"{"app":"","title":"","text":"\#(text)","timestamp":1}"#.utf8)
}
