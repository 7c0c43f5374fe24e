package import NotibotProtocol
package import SerialLink

/// The names of `ResetReason` on the command line.
extension ResetReason {
  static let names: [(name: String, reason: ResetReason)] = [
    ("unknown", .unknown), ("power-on", .powerOn), ("pin", .externalPin), ("software", .software),
    ("panic", .panic), ("interrupt-watchdog", .interruptWatchdog), ("task-watchdog", .taskWatchdog),
    ("watchdog", .otherWatchdog), ("deep-sleep", .deepSleep), ("brownout", .brownout), ("sdio", .sdio),
  ]

  /// The reason with a name, such as `panic`; nil if there is none.
  package init?(name: String) {
    guard let entry = ResetReason.names.first(where: { $0.name == name }) else { return nil }
    self = entry.reason
  }

  /// The name that `init(name:)` accepts.
  package var name: String { ResetReason.names.first { $0.reason == self }?.name ?? "unknown" }
}

/// One line to the control socket: the name of the command and its arguments.
package struct ControlRequest: Codable, Equatable, Sendable {
  package var command: String
  package var item: Int?
  package var act: Int?
  package var count: Int?
  package var text: String?
  package var reason: String?
  package var mode: String?
  package var faults: String?
  /// The faults of flashing.
  package var flashFaults: String?
  /// The condition of `wait`.
  package var until: String?
  /// The number of the device, from 1, at a socket of several.
  package var device: Int?

  /// Each command with its arguments, for help and for errors.
  package static let forms: [(words: String, meaning: String)] = [
    ("unplug", "pull the cable; the device keeps running"),
    ("plug", "plug it in again"),
    ("reboot [REASON]", "restart the device: power-on, software, panic, brownout"),
    ("dismiss ITEM", "dismiss a notification; the first since the boot is 1"),
    ("action ITEM ACT", "choose an action of a notification"),
    ("fill COUNT", "set the number of notifications of other writers"),
    ("clear", "empty the store"),
    ("log TEXT", "print a line on the console"),
    ("stall", "stop handling requests; the link still answers"),
    ("resume", "handle requests again"),
    ("close", "end the session"),
    ("mode strict|firmware", "refuse invalid writes, or answer all with success"),
    ("faults SPEC|off", "inject line faults"),
    ("flash-faults SPEC|off", "inject faults of flashing"),
    ("stats", "print state and counters"),
    ("list [ITEM]", "print the newest 100 notifications, or 100 from ITEM on"),
    ("wait NAME=VALUE", "wait until a value is reached; also NAME>=NUMBER"),
  ]

  private static let unknown =
    "unknown command; known are: \(forms.map(\.words).joined(separator: ", "))"

  /// The request for the words of a command line.
  /// - Throws: `Failure` with the reason.
  package init(words: [String]) throws(Failure) {
    guard let name = words.first,
      let form = Self.forms.map(\.words).first(where: { $0.split(separator: " ")[0] == name })
    else {
      throw Failure(.usage, Self.unknown)
    }
    self.init(command: name)
    let rest = Array(words.dropFirst())
    switch (name, rest.count) {
    case ("reboot", 0): break
    case ("reboot", 1): reason = rest[0]
    case ("dismiss", 1): item = try Self.number(rest[0], form: form)
    case ("action", 2):
      item = try Self.number(rest[0], form: form)
      act = try Self.number(rest[1], form: form)
    case ("fill", 1): count = try Self.number(rest[0], form: form)
    case ("log", 1...): text = rest.joined(separator: " ")
    case ("mode", 1): mode = rest[0]
    case ("faults", 1): faults = rest[0]
    case ("flash-faults", 1): flashFaults = rest[0]
    case ("wait", 1):
      until = rest[0]
      _ = try condition()
      return
    case ("unplug", 0), ("plug", 0), ("clear", 0), ("stall", 0), ("resume", 0), ("close", 0), ("stats", 0),
      ("list", 0):
      break
    case ("list", 1): item = try Self.number(rest[0], form: form)
    case _: throw Failure(.usage, "usage: \(form)")
    }
    _ = try parsed()
  }

  /// Turns the connection into a stream of snapshots; the only answer is an error.
  package static let view = ControlRequest(command: "view")

  package init(_ command: DeviceCommand) {
    switch command {
    case .unplug: self.init(command: "unplug")
    case .plug: self.init(command: "plug")
    case .faults(let spec): self.init(command: "faults", faults: spec.description)
    case .loaderFaults(let faults):
      self.init(command: "flash-faults")
      flashFaults = faults.description
    case .reboot(let reason): self.init(command: "reboot", reason: reason.name)
    case .dismiss(let item): self.init(command: "dismiss", item: Int(item))
    case .action(let item, let act): self.init(command: "action", item: Int(item), act: Int(act))
    case .log(let text): self.init(command: "log", text: text)
    case .fill(let count): self.init(command: "fill", count: count)
    case .clear: self.init(command: "clear")
    case .stall: self.init(command: "stall")
    case .resume: self.init(command: "resume")
    case .close: self.init(command: "close")
    case .mode(let mode): self.init(command: "mode", mode: mode.rawValue)
    case .statistics: self.init(command: "stats")
    case .list(let from): self.init(command: "list", item: from)
    }
  }

  private init(
    command: String, item: Int? = nil, act: Int? = nil, count: Int? = nil, text: String? = nil,
    reason: String? = nil, mode: String? = nil, faults: String? = nil
  ) {
    self.command = command
    self.item = item
    self.act = act
    self.count = count
    self.text = text
    self.reason = reason
    self.mode = mode
    self.faults = faults
  }

  private static func number(_ word: String, form: String) throws(Failure) -> Int {
    guard let number = Int(word), number >= 0 else {
      throw Failure(.usage, "'\(word.prefix(40))' is not a number; usage: \(form)")
    }
    return number
  }

  /// The command of this request.
  /// - Throws: `Failure` if the command is unknown or an argument is missing.
  package func parsed() throws(Failure) -> DeviceCommand {
    switch command {
    case "unplug": return .unplug
    case "plug": return .plug
    case "reboot":
      guard let reason = ResetReason(name: reason ?? "software") else {
        let names = ResetReason.names.map(\.name).joined(separator: ", ")
        throw Failure(.usage, "unknown reset reason; known are: \(names)")
      }
      return .reboot(reason)
    case "dismiss": return .dismiss(try number(item, "item"))
    case "action":
      let item = try number(item, "item")
      guard let act = UInt8(exactly: try need(act, "act")) else {
        throw Failure(.usage, "an action has a number from 0 to 255")
      }
      return .action(item, act)
    case "fill":
      let count = try need(count, "count")
      guard (0...NotificationStore.otherWritersLimit).contains(count) else {
        throw Failure(.usage, "count is 0 to \(NotificationStore.otherWritersLimit)")
      }
      return .fill(count)
    case "clear": return .clear
    case "log": return .log(try need(text, "text"))
    case "stall": return .stall
    case "resume": return .resume
    case "close": return .close
    case "mode":
      guard let mode = DeviceMode(rawValue: try need(mode, "mode")) else {
        throw Failure(.usage, "a mode is strict or firmware")
      }
      return .mode(mode)
    case "faults": return .faults(try parsedFaults())
    case "flash-faults":
      let text = try need(flashFaults, "flashFaults")
      return .loaderFaults(
        try LoaderFaults(parsing: text))
    case "stats": return .statistics
    case "list": return .list(from: item)
    default:
      throw Failure(.usage, Self.unknown)
    }
  }

  /// The condition of a `wait`.
  /// - Throws: `Failure` if it cannot be read.
  package func condition() throws(Failure) -> DeviceCondition {
    guard let condition = DeviceCondition(parsing: try need(until, "until")) else {
      let names = DeviceCondition.names.joined(separator: ", ")
      throw Failure(
        .usage, "a condition is NAME=VALUE or NAME>=NUMBER, such as stored>=3; names are: \(names)")
    }
    return condition
  }

  private func parsedFaults() throws(Failure) -> FaultSpec {
    try FaultSpec(parsing: try need(faults, "faults"))
  }

  private func number(_ value: Int?, _ name: String) throws(Failure) -> UInt32 {
    guard let number = UInt32(exactly: try need(value, name)) else {
      throw Failure(.usage, "there is no notification \(value ?? 0)")
    }
    return number
  }

  private func need<Value>(_ value: Value?, _ name: String) throws(Failure) -> Value {
    guard let value else { throw Failure(.usage, "'\(command)' needs '\(name)'") }
    return value
  }
}

/// One line from the control socket.
package struct ControlReply: Codable, Equatable, Sendable {
  /// Whether the command succeeded.
  package var ok = true
  /// The reason of a failure, in one line.
  package var error: String?
  /// The path of the port, after `plug`.
  package var port: String?
  package var statistics: DeviceStatistics?
  package var items: [Item]?

  /// A stored notification.
  package struct Item: Codable, Equatable, Sendable {
    package var item: Int
    /// As the host wrote it; not sanitised for a terminal.
    package var json: String
    /// Its identity; nil for all four if it has none. Source: PROTOCOL.md NTF-20.
    package var id: UInt32?
    package var src: UInt32?
    package var rev: UInt16?
    package var lvl: UInt8?
    /// True if it was shown without an announcement, otherwise nil. Source: PROTOCOL.md NTF-28.
    package var preexisting: Bool?
    /// True if it has expired and is hidden, otherwise nil. Source: PROTOCOL.md NTF-27.
    package var expired: Bool?

    package init(item: Int, json: String) {
      self.item = item
      self.json = json
    }

    init(_ stored: StoredNotification) {
      self.init(item: stored.item, json: String(decoding: stored.json, as: UTF8.self))
      id = stored.identity?.key.id
      src = stored.identity?.key.source
      rev = stored.identity?.revision
      lvl = stored.identity.map { _ in stored.level.rawValue }
      preexisting = stored.isPreExisting ? true : nil
      expired = stored.hasExpired ? true : nil
    }
  }

  package init(port: String? = nil) {
    self.port = port
  }

  package static func refused(_ reason: String) -> ControlReply {
    var reply = ControlReply()
    reply.ok = false
    reply.error = reason
    return reply
  }

  init(_ reply: DeviceReply) {
    self.init()
    switch reply {
    case .done: break
    case .refused(let reason): self = .refused(reason)
    case .statistics(let statistics): self.statistics = statistics
    case .list(let stored):
      items = stored.map { Item($0) }
    }
  }
}
