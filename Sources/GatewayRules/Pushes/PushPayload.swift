package import NotibotProtocol

/// The body of a push.
package struct PushPayload: Hashable, Sendable {
  /// `aps.alert`, as text.
  package struct Alert: Hashable, Sendable {
    package var title: String?
    package var subtitle: String?
    package var body: String?
  }

  /// A Live Activity's change: `aps.event`.
  package struct Activity: Hashable, Sendable {
    package enum Event: String, Hashable, Sendable, CaseIterable {
      case start, update, end
    }

    package var event: Event
    /// Milliseconds; 0: not given.
    package var timestampMs: Int64
    package var staleDate: Int64?
    package var state: JSONValue?
  }

  package var root: JSONValue
  package var alert: Alert?
  package var badge: Int?
  package var isContentAvailable = false
  package var category: String?
  package var threadID: String?
  package var interruptionLevel: NotificationDetails.Level?
  package var activity: Activity?
  /// On values that are ignored.
  package var remarks: [PushRemark] = []

  /// Reads a body; throws if it is not an object, or its `aps` is none.
  package init(parsing bytes: [UInt8], limitBytes: Int) throws(PushRefusal) {
    do throws(InputProblem) {
      root = try JSONValue(parsing: bytes, limitBytes: limitBytes)
    } catch {
      throw PushRefusal(.payloadEmpty, because: bytes.isEmpty ? "is empty" : "\(error)")
    }
    guard root.object != nil else {
      throw PushRefusal(.payloadEmpty, because: "is \(root.typeName), not a JSON object")
    }
    let aps = root["aps"] ?? .null
    guard aps == .null || aps.object != nil else {
      throw PushRefusal(
        .payloadEmpty, [PushRemark("aps", "is \(aps.typeName)", remedy: "send an object")])
    }
    read(aps.object ?? [:])
  }

  private mutating func read(_ aps: [String: JSONValue]) {
    var remarks: [PushRemark] = []
    let values = PayloadField.values(of: PayloadField.ofAps, in: aps, &remarks)
    badge = values[.badge]?.whole.map { Int($0) }
    isContentAvailable = values[.contentAvailable].map { $0 != .bool(false) && $0.double != 0 } ?? false
    category = values[.category]?.string
    threadID = values[.threadID]?.string
    if let name = values[.interruptionLevel]?.string {
      interruptionLevel = NotificationDetails.Level(name: name)
      if interruptionLevel == nil {
        let names = NotificationDetails.Level.allCases.map(\.name).joined(separator: ", ")
        remarks.append(
          PushRemark(
            PayloadField.interruptionLevel.place, "is not a level, and is ignored",
            remedy: "send one of \(names)"))
      }
    }
    switch values[.alert] {
    case .string(let text): alert = Alert(body: text)
    case .object(let object): alert = Self.alert(object, &remarks)
    case _: alert = nil
    }
    if let name = values[.event]?.string {
      if let event = Activity.Event(rawValue: name) {
        activity = Activity(
          event: event, timestampMs: Self.milliseconds(values[.timestamp]),
          staleDate: values[.staleDate].map { Self.milliseconds($0) / 1000 }, state: values[.contentState])
      } else {
        remarks.append(
          PushRemark(PayloadField.event.place, "is not start, update or end", remedy: "send one of them"))
      }
    }
    self.remarks = remarks
  }

  /// A time in seconds, which can have a fraction.
  private static func milliseconds(_ value: JSONValue?) -> Int64 {
    guard let seconds = value?.double, seconds > 0 else { return 0 }
    return Int64(min(seconds * 1000, JSONValue.wholeLimit))
  }

  private static func alert(_ object: [String: JSONValue], _ remarks: inout [PushRemark]) -> Alert {
    let values = PayloadField.values(of: PayloadField.ofAlert, in: object, &remarks)
    func text(_ field: PayloadField, key: PayloadField, arguments: PayloadField) -> String? {
      let text = values[field]?.string
      guard text.map({ DisplayText.isBlank($0) }) ?? true, let name = values[key]?.string,
        !DisplayText.isBlank(name)
      else { return text }
      let elements = values[arguments]?.array ?? []
      let texts = elements.compactMap(\.text)
      if texts.count < elements.count {
        remarks.append(arguments.remark("has others too, which are left out"))
      }
      remarks.append(
        PushRemark(
          key.place, "there are no translations: the key and its arguments are shown",
          remedy: "send \(field.place)"))
      return ([name] + texts).joined(separator: " ")
    }
    return Alert(
      title: text(.title, key: .titleLocKey, arguments: .titleLocArgs),
      subtitle: text(.subtitle, key: .subtitleLocKey, arguments: .subtitleLocArgs),
      body: text(.body, key: .locKey, arguments: .locArgs))
  }
}
