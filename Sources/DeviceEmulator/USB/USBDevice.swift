import DequeModule
package import SerialLink

/// A USB serial device as a USB/IP host sees it after the import: endpoint 0, the endpoints of the
/// line, and pending transfers.
///
/// States: *attached* → *configured* → *open* while the host submits reads of the line; from each
/// to *failed*, when the peer breaks the protocol. Inputs: `receive`; commands: `send`, `setRoom`,
/// `setModemState`; outputs: `nextAction`, `isFull`. A transfer that cannot be done yet is not
/// answered, which is a NAK on the bus. An OUT transfer is never shortened, because drivers ignore
/// a short result. Everything pending has a limit.
package struct USBDevice: Equatable, Sendable {
  /// The actions for the driver, in this order.
  package enum Action: Equatable, Sendable {
    case write([UInt8])
    /// Bytes for the device. The driver then calls `setRoom`.
    case deliver([UInt8])
    /// The host changes the line.
    case perform(LineCommand)
    /// The host sets the time after which an adapter sends an incomplete packet.
    case setLatency(Duration)
    /// A program opened or closed the port, as far as the chip notices; see
    /// `USBPersonality.keepsOutputWhileClosed`.
    case notice(HostPresence)
    /// Close the connection.
    case fail(Failure)
  }

  enum State: Equatable, Sendable {
    case attached
    case configured
    case open
    case failed
  }

  /// A host that sends more without waiting is disconnected. Linux has up to 35 pending.
  static let pendingLimit = 512
  static let pendingBytesLimit = 1 << 20

  let identity: USBIdentity
  private(set) var state = State.attached
  /// Settings of the line, by the requests of the personality.
  var line = USBLineSettings()
  private var decoder: USBIPDecoder
  private var actions: Deque<Action> = []
  /// Reads that wait for bytes, by endpoint; those of other endpoints than the line's wait until
  /// they are unlinked.
  private var reads: [UInt8: Deque<USBTransfer>] = [:]
  /// Writes that wait for room in the device.
  private var writes: Deque<USBTransfer> = []
  private var pending: Set<UInt32> = []
  private var pendingBytes = 0
  private var hasRoom = true
  /// Bytes that no read has taken.
  private var buffered: [UInt8] = []

  package init(_ identity: USBIdentity) {
    self.identity = identity
    decoder = USBIPDecoder(deviceID: identity.deviceID)
  }

  var personality: USBPersonality { identity.personality }

  // MARK: Inputs

  /// Takes bytes of the host.
  package mutating func receive(_ bytes: [UInt8]) {
    guard state != .failed else { return }
    decoder.append(bytes)
    do throws(Failure) {
      while let request = try decoder.next() {
        switch request {
        case .submit(let transfer): try submit(transfer)
        case .unlink(let sequence, let target): unlink(target, sequence)
        }
      }
    } catch {
      state = .failed
      reads = [:]
      writes = []
      actions.append(.fail(error))
    }
  }

  // MARK: Commands

  /// Takes bytes that the device sends on its line.
  package mutating func send(_ bytes: [UInt8]) {
    switch state {
    case .attached, .failed: return
    case .configured where !personality.keepsOutputWhileClosed: return
    case .configured, .open: break
    }
    buffered += bytes
    answerReads()
  }

  /// Whether the device can take more bytes.
  package mutating func setRoom(_ hasRoom: Bool) {
    self.hasRoom = hasRoom
  }

  /// Sets the lines that the device drives, as in RFC 2217's NOTIFY-MODEMSTATE: bit 7 CD, 6 RI, 5
  /// DSR, 4 CTS.
  package mutating func setModemState(_ state: UInt8) {
    line.modemState = state & 0xF0
  }

  // MARK: Outputs

  /// The next action; nil if there is none.
  package mutating func nextAction() -> Action? {
    if let action = actions.popFirst() { return action }
    guard hasRoom, let write = writes.popFirst() else { return nil }
    finish(write, .done, actualBytes: write.data.count)
    return .deliver(write.data)
  }

  /// Whether the host takes no more bytes for now.
  package var isFull: Bool { buffered.count >= personality.bufferBytes }

  // MARK: Transfers

  private mutating func submit(_ transfer: USBTransfer) throws(Failure) {
    guard pending.insert(transfer.sequence).inserted else {
      throw Failure(ofUSBIP: "sequence number \(transfer.sequence) is in use")
    }
    pendingBytes += transfer.data.count
    guard pending.count <= Self.pendingLimit, pendingBytes <= Self.pendingBytesLimit else {
      throw Failure(ofUSBIP: "too many pending transfers")
    }
    switch (transfer.endpoint, transfer.isIn) {
    case (0, _): control(transfer)
    case (personality.endpointsIn, true):
      reads[transfer.endpoint, default: []].append(transfer)
      guard transfer.endpoint == personality.dataIn else { return }
      open()
      answerReads()
    case (personality.dataOut, false): writes.append(transfer)
    // Nothing listens to the JTAG interface.
    case (personality.endpointsOut, false): finish(transfer, .done, actualBytes: transfer.data.count)
    case _: finish(transfer, .stalled)
    }
  }

  private mutating func unlink(_ target: UInt32, _ sequence: UInt32) {
    guard remove(target) else {
      actions.append(.write(USBIP.unlinked(sequence, .done)))
      return
    }
    actions.append(.write(USBIP.unlinked(sequence, .unlinked)))
    if state == .open, reads.values.allSatisfy(\.isEmpty) { close() }
  }

  /// Drops a pending transfer. Returns whether there was one.
  private mutating func remove(_ sequence: UInt32) -> Bool {
    guard pending.remove(sequence) != nil else { return false }
    for endpoint in reads.keys { reads[endpoint]?.removeAll { $0.sequence == sequence } }
    if let index = writes.firstIndex(where: { $0.sequence == sequence }) {
      pendingBytes -= writes.remove(at: index).data.count
    }
    return true
  }

  private mutating func finish(
    _ transfer: USBTransfer, _ result: USBIP.Result, actualBytes: Int = 0, data: [UInt8] = []
  ) {
    pending.remove(transfer.sequence)
    pendingBytes -= transfer.data.count
    actions.append(
      .write(USBIP.submitted(transfer.sequence, result, actualBytes: actualBytes, data: data)))
  }

  /// Answers reads of the line while there are bytes for them.
  private mutating func answerReads() {
    var taken = 0
    while taken < buffered.count, let read = reads[personality.dataIn]?.popFirst() {
      let packets = personality.packets(
        of: buffered[taken...], limitBytes: read.lengthBytes, modemState: line.modemState)
      taken += packets.takenBytes
      finish(read, .done, actualBytes: packets.bytes.count, data: packets.bytes)
    }
    buffered.removeFirst(taken)
  }

  // MARK: Opening and closing

  private mutating func open() {
    guard state != .open else { return }
    state = .open
    if !personality.keepsOutputWhileClosed { actions.append(.notice(.attached)) }
  }

  /// A program has closed the port: the driver has no reads pending, or disables the UART.
  mutating func close() {
    guard state == .open else { return }
    state = .configured
    guard !personality.keepsOutputWhileClosed else { return }
    buffered = []
    actions.append(.notice(.detached))
  }

  // MARK: Endpoint 0

  private mutating func control(_ transfer: USBTransfer) {
    let effect = answer(to: transfer.setup, data: transfer.data)
    guard let effect else { return finish(transfer, .stalled) }
    let data =
      transfer.isIn ? Array(effect.data.prefix(min(transfer.lengthBytes, Int(transfer.setup.length)))) : []
    finish(transfer, .done, actualBytes: transfer.isIn ? data.count : transfer.data.count, data: data)
    // After the answer: a chip that resets takes its USB with it.
    actions.append(contentsOf: effect.actions)
    if effect.closes { close() }
    if effect.discards { buffered = [] }
  }

  /// The reaction to a request; nil to refuse it.
  private mutating func answer(to setup: USBSetup, data: [UInt8]) -> USBControlEffect? {
    switch (setup.requestType, setup.request) {
    case (0x80, 0x06): return descriptor(setup.value).map { USBControlEffect(data: $0) }
    case (0x80, 0x00): return USBControlEffect(data: [personality.isSelfPowered ? 1 : 0, 0])
    case (0x81, 0x00), (0x82, 0x00): return USBControlEffect(data: [0, 0])
    case (0x80, 0x08): return USBControlEffect(data: [state == .attached ? 0 : 1])
    case (0x81, 0x0A): return USBControlEffect(data: [0])
    case (0x00, 0x09):
      guard state == .attached else { return USBControlEffect() }
      state = .configured
      return USBControlEffect(actions: personality.keepsOutputWhileClosed ? [.notice(.attached)] : [])
    // CLEAR_FEATURE, SET_FEATURE, SET_INTERFACE.
    case (0x00...0x02, 0x01), (0x00...0x02, 0x03), (0x01, 0x0B): return USBControlEffect()
    case _: return personality.answer(to: setup, data: data, &line)
    }
  }

  private func descriptor(_ value: UInt16) -> [UInt8]? {
    switch UInt8(value >> 8) {
    case 1: personality.deviceDescriptor
    case 2: personality.configurationDescriptor
    case 3: identity.string(UInt8(value & 0xFF))
    case _: nil
    }
  }
}
