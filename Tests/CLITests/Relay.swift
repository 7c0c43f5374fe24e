import Glibc
import NotibotProtocol
import Synchronization

/// A line between a host and an emulator that replaces payloads in the device's frames, with a
/// correct CRC: a malicious device that speaks the protocol.
final class Relay: Sendable {
  private let terminal: ControlledTerminal
  private let device: Descriptor
  private let pump: Collected

  /// The path of the port for a host.
  var port: String { terminal.path }

  /// - Parameters:
  ///   - isLostAfterSession: whether nothing passes after the host has closed its first session.
  ///   - change: returns the ATT PDU that replaces the device's.
  init(
    to emulator: Emulator, isLostAfterSession: Bool = false,
    change: @escaping @Sendable ([UInt8]) -> [UInt8] = { $0 }
  ) throws {
    let device = try ControlledTerminal.openRaw(emulator.port)
    let fromHost = Mutex((decoder: FrameDecoder(receiving: .fromHost), isLost: false))
    let terminal = try ControlledTerminal { bytes, _ in
      let isLost = fromHost.withLock { host in
        host.decoder.receive(bytes)
        while let event = host.decoder.nextEvent() {
          if case .frame(let frame) = event, frame.header.type == .fin { host.isLost = isLostAfterSession }
        }
        return host.isLost
      }
      if !isLost { device.write(bytes) }
    }
    let decoder = Mutex(FrameDecoder(receiving: .fromDevice))
    pump = Collected(reading: device) { bytes in
      var changed: [UInt8] = []
      decoder.withLock { decoder in
        decoder.receive(bytes)
        while let event = decoder.nextEvent() {
          switch event {
          case .text(let text): changed += text
          case .frame(var frame):
            if frame.header.type == .data, frame.header.channel == .att {
              frame.payload = change(frame.payload)
            }
            frame.encode(into: &changed)
          }
        }
      }
      terminal.write(changed)
    }
    self.device = device
    self.terminal = terminal
  }

  /// Ends it. The emulator must run until then.
  func stop() async { await pump.stop() }
}
