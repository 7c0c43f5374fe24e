/// A setting and its source, so that a message can explain the choice of a port.
package struct Sourced<Value: Hashable & Sendable>: Hashable, Sendable {
  package let value: Value
  package let source: SettingSource
}

/// The source of a setting. The first that is set wins, in this order.
package enum SettingSource: Hashable, Sendable, CustomStringConvertible {
  /// The command line, such as `--port`.
  case option(String)
  /// An environment variable, by its name.
  case environment(String)
  /// Nothing was set.
  case standard

  package var description: String {
    switch self {
    case .option(let name): name
    case .environment(let name): name
    case .standard: "default"
    }
  }
}

/// Selects the port and the rate.
package enum PortSelection {
  /// The default without option and environment: a rate that all USB bridges and ESP32 chips
  /// support.
  package static let standardBitsPerSecond: UInt32 = 921_600
  /// Faster than any UART or bridge in use, and far from overflow in computations with a rate.
  package static let limitBitsPerSecond: UInt32 = 20_000_000

  /// `--port`, else NOTIBOT_PORT, else ESPPORT, else `auto`. An empty variable counts as not set.
  /// Throws `.badPortName`, naming the source, if the selected one cannot be parsed.
  package static func port(
    option: String?, environment: [String: String]
  ) throws(PortError) -> Sourced<PortName> {
    let variables = ["NOTIBOT_PORT", "ESPPORT"]
    guard let text = first(option, "--port", variables, environment) else {
      return Sourced(value: .automatic, source: .standard)
    }
    do throws(PortError) {
      return Sourced(value: try PortName(parsing: text.value), source: text.source)
    } catch {
      guard case .badPortName(let problem) = error.code else { throw error }
      let code = PortError.Code.badPortName("\(problem) (from \(text.source))")
      throw PortError(code, port: error.port, operation: error.operation)
    }
  }

  /// `--baud`, else NOTIBOT_BAUD, else ESPBAUD, else 921600. From 1 to `limitBitsPerSecond`.
  /// Throws `.badRate`, naming the source, if the selected one is not such a number.
  package static func bitsPerSecond(
    option: String?, environment: [String: String]
  ) throws(PortError) -> Sourced<UInt32> {
    let variables = ["NOTIBOT_BAUD", "ESPBAUD"]
    guard let text = first(option, "--baud", variables, environment) else {
      return Sourced(value: standardBitsPerSecond, source: .standard)
    }
    let isDecimal = text.value.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard isDecimal, let rate = UInt32(text.value), (1...limitBitsPerSecond).contains(rate) else {
      let problem = "the rate must be a number from 1 to \(limitBitsPerSecond) (from \(text.source))"
      throw PortError(.badRate(problem), port: String(text.value.prefix(80)), operation: "use rate")
    }
    return Sourced(value: rate, source: text.source)
  }

  private static func first(
    _ option: String?, _ optionName: String, _ variables: [String], _ environment: [String: String]
  ) -> Sourced<String>? {
    if let option { return Sourced(value: option, source: .option(optionName)) }
    for variable in variables {
      if let value = environment[variable], !value.isEmpty {
        return Sourced(value: value, source: .environment(variable))
      }
    }
    return nil
  }
}
