import NotibotProtocol

/// A write to the flash in blocks.
struct FlashWrite: Equatable, Sendable {
  /// The address of the next byte.
  var position: Int
  /// Behind the last byte.
  let end: Int
  let blockBytes: Int
  let blocks: UInt32
  /// The number of the next block.
  var sequence: UInt32 = 0
  /// Up to this address, the flash was erased for this write.
  var erasedUpTo: Int
}

/// Erasing and writing.
extension LoaderMachine {
  /// Begins a write. The ROM erases everything now, the stub each sector when it gets there.
  private mutating func begin(
    _ request: LoaderRequest, isCompressed: Bool
  ) throws(LoaderFailure) -> FlashWrite {
    let words = try words(4, of: request)
    let (size, blockBytes, start) = (Int(words[0]), Int(words[2]), Int(words[3]))
    guard request.words(5)?[4] ?? 0 == 0, words[1] == 0 || blockBytes > 0, blockBytes <= Self.blockLimitBytes
    else { throw .badParameter }
    guard flash.holds(start, count: size) else { throw mode == .stub ? .badParameter : .flashWrite }
    transfer = .none
    deferredFailure = nil
    let sectorBytes = NORFlash.sectorBytes
    var write = FlashWrite(
      position: start, end: start + size, blockBytes: blockBytes, blocks: words[1],
      erasedUpTo: start / sectorBytes * sectorBytes)
    // Raw blocks are padded; so the last one can end behind the erased size.
    if !isCompressed { write = write.extended(to: start + Int(words[1]) * blockBytes, in: flash) }
    if mode == .rom, size > 0 {
      guard eraseSectors(write.erasedUpTo, upTo: start + size) else { return write }
      write.erasedUpTo = (start + size + sectorBytes - 1) / sectorBytes * sectorBytes
    }
    return write
  }

  mutating func beginRaw(_ request: LoaderRequest) throws(LoaderFailure) {
    let write = try begin(request, isCompressed: false)
    guard mode != .dead else { return }
    transfer = .raw(write)
    answer(request.code)
  }

  mutating func beginCompressed(_ request: LoaderRequest) throws(LoaderFailure) {
    let write = try begin(request, isCompressed: true)
    guard mode != .dead else { return }
    transfer = .compressed(write, Inflate(outputLimitBytes: write.end - write.position))
    answer(request.code)
  }

  /// Receives a block of either kind, with the faults that it meets.
  mutating func receiveBlock(_ operation: LoaderOperation, _ request: LoaderRequest) throws(LoaderFailure) {
    blocks += 1
    if faults.hits(.unplug, blocks) { return die(.unplug) }
    if faults.hits(.checksum, blocks) { throw .checksum }
    try write(operation, request)
    guard mode != .dead, !faults.hits(.silent, blocks) else { return }
    answer(request.code)
  }

  private mutating func write(
    _ operation: LoaderOperation, _ request: LoaderRequest
  ) throws(LoaderFailure) {
    let payload = try payload(of: request)
    try reportDeferred()
    let sequence = try words(2, of: request)[1]
    let current = transfer
    // So that the write is not copied when it changes.
    transfer = .none
    switch (current, operation) {
    case (.raw(var write), .flashData):
      guard try isNext(sequence, in: write, payload.count, current) else { return }
      write.sequence += 1
      store(Array(payload.prefix(max(0, write.end - write.position))), in: &write)
      transfer = .raw(write)
    case (.compressed(var write, var inflate), .deflateData):
      guard try isNext(sequence, in: write, payload.count, current) else { return }
      write.sequence += 1
      decompress(payload, with: &inflate, into: &write)
      transfer = .compressed(write, inflate)
      if mode == .rom { try reportDeferred() }
    case (.raw, _), (.compressed, _), (.none, _), (.memory, _), (.reading, _):
      transfer = current
      throw .notWriting
    }
  }

  /// Whether the block is the next one; false for the last one again, which has been written.
  private mutating func isNext(
    _ sequence: UInt32, in write: FlashWrite, _ count: Int, _ current: Transfer
  ) throws(LoaderFailure) -> Bool {
    transfer = current
    if write.sequence > 0, sequence == write.sequence - 1 { return false }
    guard sequence == write.sequence, sequence < write.blocks else { throw .badParameter }
    guard count <= write.blockBytes else { throw .blockSize }
    transfer = .none
    return true
  }

  private mutating func decompress(
    _ payload: ArraySlice<UInt8>, with inflate: inout Inflate, into write: inout FlashWrite
  ) {
    do throws(LoaderFailure) {
      store(try inflate.receive(payload), in: &write)
    } catch {
      deferredFailure = error
    }
  }

  /// The stub answers a block before it writes it, and reports a failure with the next request.
  private mutating func reportDeferred() throws(LoaderFailure) {
    guard let failure = deferredFailure else { return }
    deferredFailure = nil
    throw failure
  }

  private mutating func store(_ bytes: [UInt8], in write: inout FlashWrite) {
    guard eraseSectors(write.erasedUpTo, upTo: write.position + bytes.count) else { return }
    let sectorBytes = NORFlash.sectorBytes
    let reached = (write.position + bytes.count + sectorBytes - 1) / sectorBytes * sectorBytes
    write.erasedUpTo = max(write.erasedUpTo, reached)
    flash.program(bytes, at: write.position)
    write.position += bytes.count
  }

  // MARK: The end of a write

  mutating func endFlash(_ request: LoaderRequest) throws(LoaderFailure) {
    let stays = try words(1, of: request)[0] != 0
    try reportDeferred()
    transfer = .none
    answer(request.code)
    // "Run the application" for the ROM. A restart of the ROM by software leads back to the ROM.
    if mode == .rom, stays { put(.restart(.software)) }
  }

  mutating func endCompressed(_ request: LoaderRequest) throws(LoaderFailure) {
    try reportDeferred()
    let ended = transfer
    transfer = .none
    switch ended {
    case .compressed(_, let inflate):
      guard inflate.hasEnded else { throw .tooLittleData }
    // esptool before 5.1 begins a raw write of no bytes, and ends it so.
    case .raw: break
    case .none, .memory, .reading: throw .notWriting
    }
    answer(request.code)
  }

  // MARK: Erasing

  mutating func eraseRegion(_ request: LoaderRequest) throws(LoaderFailure) {
    let words = try words(2, of: request)
    let (start, size) = (Int(words[0]), Int(words[1]))
    guard flash.holds(start, count: size), start % NORFlash.sectorBytes == 0, size % NORFlash.sectorBytes == 0
    else { throw .badParameter }
    try erase(start..<start + size, for: request)
  }

  mutating func erase(_ range: Range<Int>, for request: LoaderRequest) throws(LoaderFailure) {
    transfer = .none
    try reportDeferred()
    guard eraseSectors(range.lowerBound, upTo: range.upperBound) else { return }
    answer(request.code)
  }

  /// Erases the sectors from a boundary on; returns false if the supply fails at one of them.
  private mutating func eraseSectors(_ start: Int, upTo end: Int) -> Bool {
    for sector in stride(from: start, to: min(end, flash.sizeBytes), by: NORFlash.sectorBytes) {
      sectors += 1
      guard !faults.hits(.powerLoss, sectors) else {
        flash.interruptErase(ofSectorContaining: sector)
        die(.restart(.powerOn))
        return false
      }
      flash.eraseSector(containing: sector)
    }
    return true
  }
}

extension FlashWrite {
  /// The same with a later end, but not behind the flash.
  fileprivate func extended(to end: Int, in flash: NORFlash) -> FlashWrite {
    FlashWrite(
      position: position, end: min(max(self.end, end), flash.sizeBytes), blockBytes: blockBytes,
      blocks: blocks,
      erasedUpTo: erasedUpTo)
  }
}
