/// A frame in words. All of it is printable, even if the sender is hostile.
package struct FrameSummary: Equatable, Sendable {
  /// The PDU's or message's name, for frames that carry one: `Write Request`, `SYNCED`.
  package private(set) var pdu: String?
  /// The content; empty if the header is everything.
  package private(set) var detail = ""
  /// The notification that is written, if it is complete.
  package private(set) var notification: DisplayNotification?

  package init(_ frame: Frame) {
    let payload = frame.payload
    switch frame.header.type {
    case .hello: detail = FrameSummary.words { Self.words(try Hello(parsing: payload)) }
    case .syn:
      detail = FrameSummary.words { "nonce \(hex(try Syn(parsing: payload).nonce))" }
    case .synack: detail = FrameSummary.words { Self.words(try SynAck(parsing: payload)) }
    case .rst:
      detail = FrameSummary.words {
        let rst = try Rst(parsing: payload)
        return "reason \(rst.reason.wire)"
      }
    case .nak:
      detail = FrameSummary.words { try Nak(parsing: payload).held.map { "held \(hex($0))" } ?? "" }
    case .pong: detail = FrameSummary.words { "handled \(try Pong(parsing: payload).handled)" }
    case .data where frame.header.channel == .att: describe(attribute: payload)
    case .data where frame.header.channel == .link: describe(sync: payload)
    case .data, .ack, .udata, .ping, .fin: break
    }
  }

  /// One line: sender, type and content of a frame.
  package static func line(of frame: Frame) -> String {
    let (header, summary) = (frame.header, FrameSummary(frame))
    let sender = header.direction == .fromHost ? "host: " : ""
    let name = header.type.name + (header.type == .data ? " \(header.sequence)" : "")
    return sender + ([name] + summary.parts).joined(separator: ", ")
  }

  /// `pdu` and `detail`, if they are there.
  package var parts: [String] { [pdu, detail.isEmpty ? nil : detail].compactMap(\.self) }

  private static func words(_ read: () throws -> String) -> String {
    do {
      return try read()
    } catch {
      return "malformed: \(printable("\(error)"))"
    }
  }

  private static func words(_ hello: Hello) -> String {
    joined([
      firmware(hello.firmwareName, hello.firmwareVersion), "boot \(hex(hello.bootID))",
      hello.bootCount.map { "number \($0)" }, hello.resetReason.map { "after \($0.words)" },
      hello.deviceID.map { "id \($0)" },
    ])
  }

  private static func words(_ answer: SynAck) -> String {
    joined([
      firmware(answer.firmwareName, answer.firmwareVersion), "boot \(hex(answer.bootID))",
      answer.uptimeMs.map { "up \($0) ms" }, "frames \(answer.limits.frames)",
      "requests \(answer.limits.requests)", "mtu \(answer.limits.mtu)",
      answer.deviceID.map { "id \($0)" },
    ])
  }

  private static func firmware(_ name: String?, _ version: String?) -> String? {
    name.map { name in printable(version.map { "\(name) \($0)" } ?? name) }
  }

  private static func joined(_ parts: [String?]) -> String {
    parts.compactMap(\.self).joined(separator: ", ")
  }

  private static func printable(_ text: String) -> String { VisibleText(Array(text.utf8)).plain }

  private static func printable(_ bytes: [UInt8]) -> String { VisibleText(bytes).plain }

  private mutating func describe(sync payload: [UInt8]) {
    do throws(WireError) {
      switch try SyncMessage(parsing: payload) {
      case .sync(let request):
        pdu = "SYNC"
        detail = "src \(hex(request.source)), known \(request.knownID), n \(request.holdings.count)"
      case .synced(let answer):
        pdu = "SYNCED"
        detail = "src \(hex(answer.source)), n \(answer.holdings.count), hwm \(answer.highestID)"
      case .resync: pdu = "RESYNC"
      case .gone(let reason, let key):
        pdu = "GONE"
        detail = "\(reason.name), src \(hex(key.source)), id \(key.id)"
      case .press(let press):
        pdu = "ACTION"
        let place = "src \(hex(press.key.source)), id \(press.key.id), rev \(press.revision)"
        detail = "act \(press.act), \(place), press \(press.number)"
      case .taken(let source, let press):
        pdu = "TAKEN"
        detail = "src \(hex(source)), press \(press)"
      }
    } catch {
      detail = "malformed: \(Self.printable("\(error)"))"
    }
  }

  private mutating func describe(attribute payload: [UInt8]) {
    let parsed: ATTPDU
    do throws(WireError) {
      parsed = try ATTPDU(parsing: payload)
    } catch {
      pdu = payload.first.map { "opcode \(hex($0))" }
      detail = "malformed: \(Self.printable("\(error)"))"
      return
    }
    pdu = parsed.name
    switch parsed {
    case .errorResponse(let request, let handle, let error):
      detail = "to opcode \(hex(request)), handle \(handle), \(error)"
    case .exchangeMTURequest(let mtu), .exchangeMTUResponse(let mtu): detail = "mtu \(mtu)"
    case .readRequest(let handle): detail = Self.attribute(handle)
    case .readBlobRequest(let handle, let offset): detail = "\(Self.attribute(handle)), from \(offset)"
    case .writeRequest(let handle, let value), .writeCommand(let handle, let value):
      describe(write: value, to: handle)
    case .handleValueNotification(let handle, let value), .handleValueIndication(let handle, let value):
      describe(notification: value, of: handle)
    case .prepareWriteRequest(let handle, let offset, let value),
      .prepareWriteResponse(let handle, let offset, let value):
      detail = "\(Self.attribute(handle)), \(value.count) bytes from \(offset)"
    case .executeWriteRequest(let flag): detail = flag == .write ? "write" : "cancel"
    case .readResponse(let value), .readBlobResponse(let value): detail = "\(value.count) bytes"
    case .findInformationRequest, .findInformationResponse, .findByTypeValueRequest, .findByTypeValueResponse,
      .readByTypeRequest, .readByTypeResponse, .readByGroupTypeRequest, .readByGroupTypeResponse,
      .writeResponse, .executeWriteResponse, .handleValueConfirmation, .unknown:
      break
    }
  }

  private mutating func describe(write value: [UInt8], to handle: UInt16) {
    guard handle == NotibotProfile.Handle.data else {
      detail = "\(Self.attribute(handle)), \(hex(value, separator: " "))"
      return
    }
    guard let written = try? WrittenNotification(parsing: value, keys: .all) else {
      detail = "Data, no notification: \(Self.printable(value))"
      return
    }
    notification = written.notification
    let which = written.identity.map { identity -> String in
      let change: String =
        switch identity.change {
        case .added: ""
        case .modified: " changed"
        case .removed: " removed"
        }
      return "id \(identity.id)\(change)"
    }
    let text = written.notification
    let shown = "\(Self.printable(text.app)): \(Self.printable(text.title)): \(Self.printable(text.text))"
    detail = Self.joined(["Data", which, written.identity?.change == .removed ? nil : shown])
  }

  private mutating func describe(notification value: [UInt8], of handle: UInt16) {
    switch handle {
    case NotibotProfile.Handle.count where value.count == 2:
      detail = "Count \(Int(value[0]) | Int(value[1]) << 8)"
    case NotibotProfile.Handle.data: detail = "Data \(Self.printable(value))"
    case _: detail = "\(Self.attribute(handle)), \(hex(value, separator: " "))"
    }
  }

  private static func attribute(_ handle: UInt16) -> String {
    switch handle {
    case NotibotProfile.Handle.count: "Count"
    case NotibotProfile.Handle.data: "Data"
    case NotibotProfile.Handle.countCCCD: "CCCD of Count"
    case NotibotProfile.Handle.dataCCCD: "CCCD of Data"
    case _: "handle \(handle)"
    }
  }
}

extension ATTPDU {
  /// The name in the Bluetooth Core specification, Vol 3 Part F 3.4.
  fileprivate var name: String {
    switch self {
    case .errorResponse: "Error Response"
    case .exchangeMTURequest: "Exchange MTU Request"
    case .exchangeMTUResponse: "Exchange MTU Response"
    case .findInformationRequest: "Find Information Request"
    case .findInformationResponse: "Find Information Response"
    case .findByTypeValueRequest: "Find By Type Value Request"
    case .findByTypeValueResponse: "Find By Type Value Response"
    case .readByTypeRequest: "Read By Type Request"
    case .readByTypeResponse: "Read By Type Response"
    case .readRequest: "Read Request"
    case .readResponse: "Read Response"
    case .readBlobRequest: "Read Blob Request"
    case .readBlobResponse: "Read Blob Response"
    case .readByGroupTypeRequest: "Read By Group Type Request"
    case .readByGroupTypeResponse: "Read By Group Type Response"
    case .writeRequest: "Write Request"
    case .writeResponse: "Write Response"
    case .prepareWriteRequest: "Prepare Write Request"
    case .prepareWriteResponse: "Prepare Write Response"
    case .executeWriteRequest: "Execute Write Request"
    case .executeWriteResponse: "Execute Write Response"
    case .handleValueNotification: "Handle Value Notification"
    case .handleValueIndication: "Handle Value Indication"
    case .handleValueConfirmation: "Handle Value Confirmation"
    case .writeCommand: "Write Command"
    case .unknown(let opcode, _): "opcode \(hex(opcode))"
    }
  }
}

extension ResetReason {
  /// In words.
  package var words: String {
    switch self {
    case .unknown: "unknown"
    case .powerOn: "power-on"
    case .externalPin: "external pin"
    case .software: "software"
    case .panic: "panic"
    case .interruptWatchdog: "interrupt watchdog"
    case .taskWatchdog: "task watchdog"
    case .otherWatchdog: "other watchdog"
    case .deepSleep: "deep sleep"
    case .brownout: "brownout"
    case .sdio: "SDIO"
    }
  }
}
