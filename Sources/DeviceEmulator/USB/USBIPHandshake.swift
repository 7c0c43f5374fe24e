import SerialLink

/// The first message of a USB/IP connection: the list of devices, or the import of one.
///
/// Input: `receive`; the driver carries out `nextAction` and, after an import, passes `rest` to the
/// device. At most 40 bytes are kept.
struct USBIPHandshake: Equatable, Sendable {
  enum Action: Equatable, Sendable {
    /// Answer with the list of devices, then close.
    case list
    /// Answer with the device that has this bus id.
    case importDevice(busID: String)
    /// Close.
    case fail(Failure)
  }

  private static let listBytes = 8
  private static let importBytes = 8 + USBIP.busIDBytes

  private var bytes: [UInt8] = []
  /// Bytes received after the message.
  private(set) var rest: [UInt8] = []
  private var isDone = false

  /// Takes bytes, and returns what they ask for once they are complete. nil before that, and
  /// afterwards.
  mutating func receive(_ new: [UInt8]) -> Action? {
    guard !isDone else { return nil }
    bytes += new
    guard bytes.count >= Self.listBytes else { return nil }
    let reader = BigEndianReader(bytes[...])
    guard reader.u16(at: 0) == USBIP.version else {
      let reason = "USB/IP version \(reader.u16(at: 0)) is not 273 (0x0111)"
      return end(.fail(Failure(ofUSBIP: reason)))
    }
    switch reader.u16(at: 2) {
    case USBIP.Code.requestList: return end(.list)
    case USBIP.Code.requestImport:
      guard bytes.count >= Self.importBytes else { return nil }
      let name = bytes[Self.listBytes..<Self.importBytes].prefix { $0 != 0 }
      rest = Array(bytes[Self.importBytes...])
      return end(.importDevice(busID: String(decoding: name, as: UTF8.self)))
    case let code: return end(.fail(Failure(ofUSBIP: "unknown USB/IP message \(code)")))
    }
  }

  private mutating func end(_ action: Action) -> Action {
    isDone = true
    bytes = []
    return action
  }

  /// The answer to a list.
  static func list(of devices: [USBIdentity]) -> [UInt8] {
    USBIP.message(USBIP.Code.replyList, .done) + USBIP.bigEndian(UInt32(devices.count))
      + devices.flatMap { $0.record + $0.personality.interfaces.flatMap { $0 + [0] } }
  }

  /// The answer to an import.
  static func imported(_ device: USBIdentity) -> [UInt8] {
    USBIP.message(USBIP.Code.replyImport, .done) + device.record
  }

  /// The answer to an import that is refused.
  static func refused(_ status: USBIP.Status) -> [UInt8] {
    USBIP.message(USBIP.Code.replyImport, status)
  }
}
