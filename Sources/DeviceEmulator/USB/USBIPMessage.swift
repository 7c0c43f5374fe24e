import SerialLink

/// The messages of USB/IP, protocol version 1.1.1, which carries USB transfers over a stream.
/// Integers are big-endian, except in a setup packet. Source: Linux,
/// Documentation/usb/usbip_protocol.rst.
package enum USBIP {
  static let version: UInt16 = 0x0111
  /// The header of each transfer and of its answer.
  static let headerBytes = 48
  static let busIDBytes = 32
  /// The most bytes of one transfer; the drivers of serial devices use up to 4096.
  static let transferLimitBytes = 65_536

  /// Codes of the messages before the transfers.
  enum Code {
    static let requestList: UInt16 = 0x8005
    static let replyList: UInt16 = 0x0005
    static let requestImport: UInt16 = 0x8003
    static let replyImport: UInt16 = 0x0003
  }

  /// The result of a message before the transfers. Source: tools/usb/usbip, `enum op_status`.
  package enum Status: UInt32, Sendable {
    case done = 0
    case busy = 2
    case noDevice = 4
  }

  /// The result of a transfer, a negative `errno`.
  enum Result: Int32 {
    case done = 0
    /// STALL: the device refuses the request.
    case stalled = -32
    /// The transfer was unlinked before it was done.
    case unlinked = -104
  }
}

extension Failure {
  /// The peer has sent something that is not USB/IP, or is beyond a limit: the connection cannot
  /// continue.
  init(ofUSBIP message: String) { self.init(.linkLost, message) }
}

/// A request on an imported device.
enum USBIPRequest: Equatable, Sendable {
  case submit(USBTransfer)
  /// Cancels the transfer with sequence number `target`.
  case unlink(sequence: UInt32, target: UInt32)
}

/// A transfer that the host has submitted (URB).
struct USBTransfer: Equatable, Sendable {
  var sequence: UInt32
  /// 0...15, without the direction bit.
  var endpoint: UInt8
  var isIn: Bool
  /// The length of the buffer, 0...`USBIP.transferLimitBytes`.
  var lengthBytes: Int
  var setup: USBSetup
  /// The bytes of an OUT transfer.
  var data: [UInt8]
}

/// A setup packet of endpoint 0. Source: USB 2.0, 9.3.
struct USBSetup: Equatable, Sendable {
  var requestType: UInt8
  var request: UInt8
  var value: UInt16
  var index: UInt16
  var length: UInt16
}

/// Divides the stream of a connection into requests, after the import.
struct USBIPDecoder: Equatable, Sendable {
  private let deviceID: UInt32
  private var buffer: [UInt8] = []
  private var offset = 0

  init(deviceID: UInt32) {
    self.deviceID = deviceID
  }

  mutating func append(_ bytes: [UInt8]) {
    if offset > 0 {
      buffer.removeFirst(offset)
      offset = 0
    }
    buffer += bytes
  }

  /// The next complete request; nil if there is none. After an error the stream has no boundaries
  /// any more.
  mutating func next() throws(Failure) -> USBIPRequest? {
    guard buffer.count - offset >= USBIP.headerBytes else { return nil }
    let header = BigEndianReader(buffer[offset..<offset + USBIP.headerBytes])
    let sequence = header.u32(at: 4)
    guard header.u32(at: 8) == deviceID else {
      throw Failure(ofUSBIP: "a request for device \(header.u32(at: 8)), which is not the imported one")
    }
    switch header.u32(at: 0) {
    case 1: break
    case 2:
      offset += USBIP.headerBytes
      return .unlink(sequence: sequence, target: header.u32(at: 20))
    case let command: throw Failure(ofUSBIP: "unknown USB/IP command \(command)")
    }
    let direction = header.u32(at: 12)
    guard direction <= 1 else { throw Failure(ofUSBIP: "direction \(direction) is neither 0 nor 1") }
    guard header.u32(at: 16) <= 15 else {
      throw Failure(ofUSBIP: "endpoint \(header.u32(at: 16)) is above 15")
    }
    let length = Int32(bitPattern: header.u32(at: 24))
    guard 0...USBIP.transferLimitBytes ~= Int(length) else {
      throw Failure(ofUSBIP: "a transfer of \(length) bytes; the limit is \(USBIP.transferLimitBytes)")
    }
    let packets = Int32(bitPattern: header.u32(at: 32))
    guard packets == 0 || packets == -1 else {
      throw Failure(ofUSBIP: "\(packets) isochronous packets; the device has no such endpoint")
    }
    let dataBytes = direction == 0 ? Int(length) : 0
    guard buffer.count - offset - USBIP.headerBytes >= dataBytes else { return nil }
    let start = offset + USBIP.headerBytes
    offset = start + dataBytes
    return .submit(
      USBTransfer(
        sequence: sequence, endpoint: UInt8(header.u32(at: 16)), isIn: direction == 1,
        lengthBytes: Int(length), setup: header.setup(at: 40), data: Array(buffer[start..<offset])))
  }
}

/// Reads fixed positions of a message that is known to be long enough.
struct BigEndianReader {
  private let bytes: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
  }

  func u16(at position: Int) -> UInt16 {
    let start = bytes.startIndex + position
    return UInt16(bytes[start]) << 8 | UInt16(bytes[start + 1])
  }

  func u32(at position: Int) -> UInt32 {
    UInt32(u16(at: position)) << 16 | UInt32(u16(at: position + 2))
  }

  /// The only little-endian part of a header.
  func setup(at position: Int) -> USBSetup {
    let start = bytes.startIndex + position
    return USBSetup(
      requestType: bytes[start], request: bytes[start + 1], value: u16(at: position + 2).byteSwapped,
      index: u16(at: position + 4).byteSwapped, length: u16(at: position + 6).byteSwapped)
  }
}

extension USBIP {
  /// The answer to a submitted transfer. `data` is empty for OUT transfers; `actualBytes` is what
  /// the device took or sent.
  static func submitted(
    _ sequence: UInt32, _ result: Result, actualBytes: Int, data: [UInt8] = []
  ) -> [UInt8] {
    header(command: 3, sequence, result, actualBytes: actualBytes) + data
  }

  /// The answer to an unlink.
  static func unlinked(_ sequence: UInt32, _ result: Result) -> [UInt8] {
    header(command: 4, sequence, result, actualBytes: 0)
  }

  private static func header(
    command: UInt32, _ sequence: UInt32, _ result: Result, actualBytes: Int
  ) -> [UInt8] {
    var bytes = bigEndian(command) + bigEndian(sequence) + [UInt8](repeating: 0, count: 12)
    bytes += bigEndian(UInt32(bitPattern: result.rawValue)) + bigEndian(UInt32(actualBytes))
    return bytes + [UInt8](repeating: 0, count: headerBytes - bytes.count)
  }

  /// A message before the transfers.
  static func message(_ code: UInt16, _ status: Status) -> [UInt8] {
    bigEndian(version) + bigEndian(code) + bigEndian(status.rawValue)
  }

  static func bigEndian<Number: FixedWidthInteger & UnsignedInteger>(_ number: Number) -> [UInt8] {
    stride(from: Number.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
  }

  static func padded(_ text: String, toBytes count: Int) -> [UInt8] {
    let bytes = Array(text.utf8.prefix(count - 1))
    return bytes + [UInt8](repeating: 0, count: count - bytes.count)
  }
}
