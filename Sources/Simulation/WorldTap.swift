import Conformance
import DeviceEmulator
import NotibotHost
import NotibotProtocol
import SuiteWire

/// Decodes the passing frames for the trace, with the suite's own codec.
struct WorldTap {
  private let isOn: Bool
  private var host = FrameSplitter(from: .host)
  private var device = FrameSplitter(from: .device)

  init(isOn: Bool) {
    self.isOn = isOn
  }

  /// One line for each frame or text that has ended in these bytes.
  mutating func lines(of bytes: [UInt8], from sender: WireFrame.Sender) -> [String] {
    guard isOn else { return [] }
    switch sender {
    case .host:
      host.receive(bytes)
      return host.drainItems().map(describe)
    case .device:
      device.receive(bytes)
      return device.drainItems().map(describe)
    }
  }

  private func describe(_ item: WireItem) -> String {
    switch item {
    case .text(let bytes): "text, \(bytes.count) bytes"
    case .frame(let frame): describe(frame)
    }
  }

  private func describe(_ frame: WireFrame) -> String {
    let numbers = "session \(frame.session) ack \(frame.ack) credit \(frame.credit)"
    guard frame.kind == .data else { return "\(frame.kind) \(numbers)" }
    let head = "DATA \(frame.seq) \(numbers)"
    switch frame.channel {
    case 0:
      guard let message = try? SyncMessage(parsing: frame.payload) else { return "\(head) channel 0" }
      return "\(head) \(message)"
    case 4: return "\(head) ATT \(describe(pdu: frame.payload))"
    case _: return "\(head) channel \(frame.channel)"
    }
  }

  private func describe(pdu: [UInt8]) -> String {
    let opcode = pdu.first.map { Wire.hex([$0], limit: 1) } ?? "none"
    guard pdu.count > 20 else { return Wire.hex(pdu, limit: 20) }
    return "\(opcode) \(pdu.count) bytes \(SimulatedWorld.short(Array(pdu.dropFirst(3))))"
  }
}

/// Descriptions for a trace.
extension SimulatedWorld {
  /// The beginning and the end of a JSON text, where its identity is.
  static func short(_ json: [UInt8]) -> String {
    let printable = json.map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: ".") }
    let text = String(decoding: printable, as: UTF8.self)
    guard text.count > 110 else { return text }
    return "\(text.prefix(50))...\(text.suffix(50))"
  }

  func describe(_ contents: JournalContents) -> String {
    "source \(contents.header.source) last \(contents.header.lastID) known \(contents.header.knownID) run \(contents.header.run): "
      + contents.entries.map { describe($0) }.joined(separator: ", ")
  }

  func describe(_ change: JournalChange) -> String {
    switch change {
    case .header(let header):
      "source \(header.source) last \(header.lastID) known \(header.knownID) number \(header.lastNumber.rawValue)"
    case .put(let entry): "put \(describe(entry))"
    case .delete(let number): "delete \(number.rawValue)"
    case .putKey(let record): "put key \(record.row) of \(record.number.rawValue)"
    case .deleteKey(let row): "delete key \(row)"
    case .putPresses(let record): "put press \(record.press) of boot \(record.bootID)"
    case .deletePresses(let bootID): "delete presses of boot \(bootID)"
    }
  }

  private func describe(_ entry: OutboxEntry) -> String {
    let state =
      switch entry.state {
      case .queued: "queued"
      case .written(let write): "written \(write.id).\(write.revision)"
      case .held(let write): "held \(write.id).\(write.revision)"
      case .updating(let held, let next): "updating \(held.id).\(held.revision) to \(next.revision)"
      case .removing(let id): "removing \(id)"
      case .refused(let error): "refused \(error)"
      }
    return "\(entry.number.rawValue) \(state)\(entry.hasNewerContent ? "+" : "")"
  }

  func describe(_ change: DisplayChange) -> String {
    switch change {
    case .shown(let subject, let isAnnounced):
      "\(isAnnounced ? "announces" : "shows") \(describe(subject))"
    case .replaced(let subject, _): "replaces \(describe(subject))"
    case .removed(let subject, let reason): "drops \(describe(subject)): \(reason)"
    case .restarted: "is empty after a restart"
    }
  }

  private func describe(_ subject: DisplayChange.Subject) -> String {
    "item \(subject.item) \(subject.key.map { "\($0.source)/\($0.id)" } ?? "plain").\(subject.revision) \(Self.short(subject.json))"
  }

  func describe(_ submission: OutboxSubmission) -> String {
    switch submission {
    case .add(let notification): "add content \(notification.timestamp - Scenario.firstTimestamp)"
    case .update(let number, let notification):
      "update \(number.rawValue) to content \(notification.timestamp - Scenario.firstTimestamp)"
    case .remove(let number): "remove \(number.rawValue)"
    }
  }
}
