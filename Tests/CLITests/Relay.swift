import Glibc
import NotibotProtocol
import Synchronization

/// A line between a host and an emulator that puts other payloads into the device's frames, whole and with a right
/// CRC: a device that speaks the protocol and means harm.
final class Relay: Sendable {
  private let terminal: ControlledTerminal
  private let device: Descriptor
  private let pump: Collected

  /// Where a host opens the port.
  var port: String { terminal.path }

  /// - Parameter change: the ATT PDU that takes the place of the one that the device sent.
  init(to emulator: Emulator, change: @escaping @Sendable ([UInt8]) -> [UInt8]) throws {
    let device = try ControlledTerminal.openRaw(emulator.port)
    let terminal = try ControlledTerminal { bytes, _ in device.write(bytes) }
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

  /// Ends it. The emulator must live until then.
  func stop() async { await pump.stop() }
}
