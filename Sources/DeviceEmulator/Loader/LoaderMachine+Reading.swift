import Digests
import NotibotProtocol

/// A transfer of the flash's content to the host, one packet at a time.
struct FlashRead: Equatable, Sendable {
  let start: Int
  let count: Int
  let packetBytes: Int
  /// Bytes that were sent.
  var sent = 0
}

/// Reading and comparing.
extension LoaderMachine {
  /// The bytes in each answer of the ROM.
  private static let slowReadBytes = 64

  mutating func hash(_ request: LoaderRequest) throws(LoaderFailure) {
    let words = try words(4, of: request)
    let (start, count) = (Int(words[0]), Int(words[1]))
    if let failure = deferredFailure {
      deferredFailure = nil
      throw failure
    }
    guard flash.holds(start, count: count) else { throw .flashRead }
    var digest = MD5.digest(of: flash.bytes, in: start..<start + count)
    if faults.has(.md5) { digest[0] ^= 0xFF }
    switch mode {
    case .rom: answer(request.code, Array(digest.map(Self.hexadecimal).joined().utf8))
    case .stub, .dead: answer(request.code, digest)
    }
  }

  private static func hexadecimal(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16)
  }

  mutating func readSlowly(_ request: LoaderRequest) throws(LoaderFailure) {
    let words = try words(2, of: request)
    guard words[1] <= Self.slowReadBytes else { throw .readLength }
    guard let bytes = flash.read(at: Int(words[0]), count: Int(words[1])) else { throw .flashRead }
    answer(request.code, bytes + [UInt8](repeating: 0, count: Self.slowReadBytes - bytes.count))
  }

  mutating func beginReading(_ request: LoaderRequest) throws(LoaderFailure) {
    let words = try words(4, of: request)
    let (start, count, packetBytes) = (Int(words[0]), Int(words[1]), Int(words[2]))
    guard flash.holds(start, count: count) else { throw .flashRead }
    guard packetBytes > 0, packetBytes <= Self.blockLimitBytes, words[3] > 0 else { throw .badParameter }
    answer(request.code)
    send(FlashRead(start: start, count: count, packetBytes: packetBytes))
  }

  /// The host has this many bytes. The next packet follows when it has all that were sent: a window
  /// of one packet, whatever the host offered, as Espressif's stub does.
  mutating func acknowledge(_ received: UInt32, of reading: FlashRead) {
    guard Int(received) == reading.sent else { return }
    send(reading)
  }

  private mutating func send(_ reading: FlashRead) {
    var reading = reading
    let count = min(reading.packetBytes, reading.count - reading.sent)
    guard count > 0, let packet = flash.read(at: reading.start + reading.sent, count: count) else {
      transfer = .none
      var digest = MD5.digest(of: flash.bytes, in: reading.start..<reading.start + reading.count)
      if faults.has(.md5) { digest[0] ^= 0xFF }
      return transmit(digest)
    }
    reading.sent += count
    transfer = .reading(reading)
    transmit(packet)
  }
}
