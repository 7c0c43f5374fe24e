import NotibotProtocol

@testable import DeviceEmulator

/// A loader, and a host's end of its line.
struct LoaderRig {
  var loader: LoaderMachine
  var now = Instant.zero

  init(_ chip: ChipModel.Name = .esp32c3, faults: LoaderFaults = .off) {
    let flash = NORFlash(sizeBytes: 0x10_0000)
    loader = LoaderMachine(
      chip: .named(chip), deviceID: DeviceID(octets: [0xA0, 0xB1, 0xC2, 0xD3, 0xE4, 0xF5]), flash: flash!)
    loader.setFaults(faults)
  }

  /// Sends bytes as they are, and returns those of the answer.
  mutating func send(_ bytes: [UInt8]) -> [UInt8] {
    loader.receive(bytes, now: now)
    return drainBytes()
  }

  /// Sends a request, and returns the bytes of the answer.
  mutating func request(_ code: UInt8, _ data: [UInt8], checksum: UInt8 = 0) -> [UInt8] {
    let header: [UInt8] = [0, code, UInt8(data.count & 0xFF), UInt8(data.count >> 8), checksum, 0, 0, 0]
    return send(slip(header + data))
  }

  mutating func request(_ code: UInt8, words: [UInt32]) -> [UInt8] {
    request(code, words.flatMap { littleEndian($0) })
  }

  /// Sends a data block.
  mutating func block(_ code: UInt8, _ payload: [UInt8], sequence: UInt32) -> [UInt8] {
    let head = [UInt32(payload.count), sequence, 0, 0].flatMap { littleEndian($0) }
    return request(code, head + payload, checksum: payload.reduce(0xEF) { $0 ^ $1 })
  }

  /// Starts the stub.
  mutating func startStub() { _ = request(0x06, words: [0, 0x4038_0E9A]) }

  mutating func drainBytes() -> [UInt8] {
    var bytes: [UInt8] = []
    while case .transmit(let more)? = loader.nextAction() { bytes += more }
    return bytes
  }
}

func slip(_ content: [UInt8]) -> [UInt8] {
  let escaped = content.flatMap { byte -> [UInt8] in
    switch byte {
    case 0xC0: [0xDB, 0xDC]
    case 0xDB: [0xDB, 0xDD]
    default: [byte]
    }
  }
  return [0xC0] + escaped + [0xC0]
}

func littleEndian(_ word: UInt32) -> [UInt8] {
  [UInt8(word & 0xFF), UInt8(word >> 8 & 0xFF), UInt8(word >> 16 & 0xFF), UInt8(word >> 24)]
}

/// SYNC as esptool 5.6 sends it.
let loaderSync: [UInt8] =
  [0xC0, 0x00, 0x08, 0x24, 0x00, 0x00, 0x00, 0x00, 0x00, 0x07, 0x07, 0x12, 0x20]
  + [UInt8](repeating: 0x55, count: 32) + [0xC0]
