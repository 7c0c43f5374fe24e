import CNotibotCore
import NotibotProtocol

/// The firmware's frame decoder with the Swift decoder's interface.
final class FirmwareDecoder {
  private let decoder: UnsafeMutablePointer<nb_decoder_t>
  /// The events since the last call, with adjacent text joined.
  private var events: [DecoderEvent] = []
  private var nowMs: UInt32 = 0

  init(receiving: Direction) {
    decoder = .allocate(capacity: 1)
    nb_decoder_start(decoder, receiving == .fromHost)
  }

  deinit { decoder.deallocate() }

  func receive(_ bytes: [UInt8]) {
    for byte in bytes { handle(nb_decoder_receive(decoder, byte, nowMs)) }
  }

  /// A second of silence.
  func flush() {
    nowMs &+= 1000
    handle(nb_decoder_poll(decoder, nowMs))
  }

  func drainEvents() -> [DecoderEvent] {
    defer { events = [] }
    return events
  }

  var counters: DecoderCounters {
    let counted = decoder.pointee.counters
    var counters = DecoderCounters()
    counters.frames = UInt64(counted.frames)
    counters.crcErrors = UInt64(counted.crc_errors)
    counters.malformed = UInt64(counted.malformed)
    counters.textBytes = UInt64(counted.text_bytes)
    counters.echoes = UInt64(counted.echoes)
    counters.overruns = UInt64(counted.overruns)
    return counters
  }

  private func handle(_ received: nb_received) {
    switch received {
    case NB_RECEIVED_FRAME: addFrame()
    case NB_RECEIVED_TEXT:
      let text = Array(UnsafeBufferPointer(start: decoder.pointee.text, count: decoder.pointee.text_length))
      events.joinText(text)
    default: break
    }
  }

  private func addFrame() {
    let header = decoder.pointee.header
    guard let type = FrameType(rawValue: UInt8(header.type)) else { return events.append(.text([])) }
    let payload = Array(UnsafeBufferPointer(start: decoder.pointee.payload, count: Int(header.length)))
    events.append(
      .frame(
        Frame(
          FrameHeader(
            type: type, direction: header.from_device != 0 ? .fromDevice : .fromHost,
            channel: Channel(rawValue: UInt8(header.channel)), session: UInt16(header.session),
            sequence: UInt8(header.seq), ack: UInt8(header.ack), credit: UInt8(header.credit)),
          payload: payload)))
  }
}

extension [DecoderEvent] {
  mutating func joinText(_ more: [UInt8]) {
    if case .text(let text) = last {
      self[count - 1] = .text(text + more)
    } else {
      append(.text(more))
    }
  }
}

extension FrameDecoder {
  /// The events since the last call, with adjacent text joined.
  mutating func drainEvents() -> [DecoderEvent] {
    var events: [DecoderEvent] = []
    while let event = nextEvent() {
      switch event {
      case .text(let text): events.joinText(text)
      case .frame: events.append(event)
      }
    }
    return events
  }
}

/// The firmware's encoding of a frame.
func firmwareEncoding(of frame: Frame) -> [UInt8] {
  var header = nb_header_t()
  header.type = UInt32(frame.header.type.rawValue)
  header.from_device = frame.header.direction == .fromDevice ? 1 : 0
  header.channel = UInt32(frame.header.channel.rawValue)
  header.session = UInt32(frame.header.session)
  header.seq = UInt32(frame.header.sequence)
  header.ack = UInt32(frame.header.ack)
  header.credit = UInt32(frame.header.credit)
  header.length = UInt32(frame.payload.count)
  return [UInt8](unsafeUninitializedCapacity: 545) { buffer, count in
    count = max(0, Int(nb_frame_encode(&header, frame.payload, buffer.baseAddress, buffer.count)))
  }
}
