import NotibotProtocol

/// The requests of a host, and those that are answered at once.
extension LoaderMachine {
  /// RAM of the largest chip, in bytes.
  private static let memoryLimitBytes = 524_288
  /// How many times SYNC is answered.
  private static let syncAnswers = 8
  /// The bit of the configuration that starts the watchdog.
  private static let watchdogEnabled: UInt32 = 1 << 31

  mutating func receive(_ frame: [UInt8]) {
    if case .reading(let reading) = transfer {
      if frame.count == 4, let received = frame.word(at: 0) { return acknowledge(received, of: reading) }
      // A host that sends a request instead has given up the transfer.
      transfer = .none
    }
    guard let request = LoaderRequest(frame) else { return }
    requests += 1
    guard let operation = LoaderOperation(rawValue: request.code) else {
      return answer(request.code, failure: .unsupported)
    }
    guard request.isComplete else { return answer(request.code, failure: .badLength) }
    do {
      try perform(operation, request)
    } catch {
      answer(request.code, failure: error)
    }
  }

  /// Carries out a request, which answers it, or throws why it fails.
  private mutating func perform(
    _ operation: LoaderOperation, _ request: LoaderRequest
  ) throws(LoaderFailure) {
    try checkMode(operation)
    switch operation {
    case .sync: synchronise(request)
    case .readRegister: answer(request.code, value: read(try words(1, of: request)[0]))
    case .writeRegister: try writeRegisters(request)
    case .attachFlash:
      _ = try words(1, of: request)
      answer(request.code)
    case .setFlashParameters:
      _ = try words(6, of: request)
      answer(request.code)
    case .changeRate: try changeRate(request)
    case .securityInfo:
      guard chip.hasSecurityInfo else { throw .unsupported }
      answer(request.code, chip.securityInfo)
    case .memoryBegin: try beginMemory(request)
    case .memoryData: try receiveMemory(request)
    case .memoryEnd: try endMemory(request)
    case .flashBegin: try beginRaw(request)
    case .deflateBegin: try beginCompressed(request)
    case .flashData, .deflateData: try receiveBlock(operation, request)
    case .flashEnd: try endFlash(request)
    case .deflateEnd: try endCompressed(request)
    case .flashMD5: try hash(request)
    case .readFlashSlow: try readSlowly(request)
    case .readFlash: try beginReading(request)
    case .eraseFlash: try erase(0..<flash.sizeBytes, for: request)
    case .eraseRegion: try eraseRegion(request)
    case .runUserCode: put(.restart(.software))
    }
  }

  /// Some operations exist in the stub only.
  private func checkMode(_ operation: LoaderOperation) throws(LoaderFailure) {
    switch (operation, mode) {
    case (.eraseFlash, .rom), (.eraseRegion, .rom), (.readFlash, .rom), (.runUserCode, .rom),
      (.readFlashSlow, .stub):
      throw .unsupported
    case _: return
    }
  }

  func words(_ count: Int, of request: LoaderRequest) throws(LoaderFailure) -> [UInt32] {
    guard let words = request.words(count) else { throw .badLength }
    return words
  }

  private mutating func synchronise(_ request: LoaderRequest) {
    guard request.isSync else { return }
    if rate == .unknown, let hostRate { rate = .known(hostRate) }
    // A stub answers 0, by which a host finds out that it need not load one.
    let value: UInt32 = mode == .stub ? 0 : 0x2012_0707
    for _ in 0..<Self.syncAnswers { answer(request.code, value: value) }
  }

  private mutating func changeRate(_ request: LoaderRequest) throws(LoaderFailure) {
    let new = try words(2, of: request)[0]
    guard new > 0 else { throw .badParameter }
    answer(request.code)
    changeRate(to: new)
  }

  // MARK: Registers

  private func read(_ address: UInt32) -> UInt32 {
    let bitsPerSecond: UInt32 =
      switch rate {
      case .unknown: hostRate ?? 115_200
      case .known(let known): known
      }
    return spi.read(address) ?? chip.register(address, of: deviceID, bitsPerSecond: bitsPerSecond)
  }

  private mutating func writeRegisters(_ request: LoaderRequest) throws(LoaderFailure) {
    guard request.data.count % 16 == 0, !request.data.isEmpty else { throw .badLength }
    for start in stride(from: 0, to: request.data.count, by: 16) {
      guard let address = request.data.word(at: start), let value = request.data.word(at: start + 4),
        let mask = request.data.word(at: start + 8)
      else { throw .badLength }
      let old = mask == .max ? 0 : read(address)
      let new = old & ~mask | value & mask
      if spi.write(new, to: address, flash: &flash) { continue }
      if address == chip.watchdogConfiguration, new & Self.watchdogEnabled != 0 {
        watchdogDeadline = clock + Self.watchdogTime
      }
    }
    answer(request.code)
  }

  // MARK: RAM

  private mutating func beginMemory(_ request: LoaderRequest) throws(LoaderFailure) {
    let size = Int(try words(4, of: request)[0])
    guard size <= Self.memoryLimitBytes else { throw .memory }
    transfer = .memory(leftBytes: size)
    answer(request.code)
  }

  private mutating func receiveMemory(_ request: LoaderRequest) throws(LoaderFailure) {
    guard case .memory(let left) = transfer else { throw .notWriting }
    let payload = try payload(of: request)
    guard payload.count <= left else { throw .memory }
    transfer = .memory(leftBytes: left - payload.count)
    answer(request.code)
  }

  /// Code with an entry runs; it is taken for a stub, whatever it is, because stubs change with
  /// each release of esptool, and esptool 5.6.0 waits for `OHAI` indefinitely.
  private mutating func endMemory(_ request: LoaderRequest) throws(LoaderFailure) {
    let entry = try words(2, of: request)[1]
    answer(request.code)
    transfer = .none
    guard entry != 0 else { return }
    mode = .stub
    transmit(Array("OHAI".utf8))
  }

  /// The data of a block, if its length and checksum are right.
  func payload(of request: LoaderRequest) throws(LoaderFailure) -> ArraySlice<UInt8> {
    let length = Int(try words(4, of: request)[0])
    let payload = request.data[16...]
    guard payload.count == length else { throw .badLength }
    guard length <= Self.blockLimitBytes else { throw .blockSize }
    let checksum = payload.reduce(UInt8(0xEF)) { $0 ^ $1 }
    guard UInt32(checksum) == request.checksum else { throw .checksum }
    return payload
  }
}
