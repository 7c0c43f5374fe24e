public import NotibotProtocol
package import SerialLink

/// An error of a device: the failed operation, the port, the reason, and what to do about it.
public struct NotibotError: Error, Sendable {
  /// What went wrong.
  @nonexhaustive
  public enum Code: Hashable, Sendable {
    /// The port's name or an option is wrong.
    case usage
    /// No such port, or no board at it.
    case noBoard
    /// Another program uses the port.
    case portBusy
    /// The user is not permitted to open the port.
    case noPermission
    /// Nothing answered in time.
    case noAnswer
    /// The port or the session was lost.
    case linkLost
    /// The device answered with this error of the attribute protocol, such as
    /// `.notANotification`, or `.insufficientResources`: its store is full.
    case refused(ATTError)
    /// The device speaks the protocol, but not a version or a profile that this host can
    /// use.
    case incompatible
    /// The device restarted.
    case deviceRestarted
    /// A fault of this computer: too many open files, no memory.
    case environment
    /// Too many requests are pending.
    case queueFull
  }

  /// The kind of error, for a program that handles it.
  public var code: Code
  /// The port as the user named it.
  public var port: String
  /// The operation that failed, as a verb: "open", "send to".
  public var operation: String
  /// Why, in a few words.
  public var reason: String
  /// The action for the user; empty if there is nothing to add.
  public var hint: String
  /// Whether the request was possibly executed: sending it again can show it twice, not sending it
  /// can lose it.
  public var isOutcomeUnknown = false
  /// The error below this one, if there is one.
  public var underlying: (any Error)?
}

extension NotibotError: CustomStringConvertible {
  /// One line without the hint: what, which port, why. Safe to print.
  public var description: String {
    let name = TerminalText.sanitised(port.utf8)
    return "cannot \(operation) \(name): \(reason)" + (hasUnknownEffect ? ", its outcome is unknown" : "")
  }

  /// Whether it may have changed the device. A read has no effect.
  package var hasUnknownEffect: Bool { isOutcomeUnknown && !operation.hasPrefix("read ") }
}

extension NotibotError: ClassifiedError {
  /// That of the error below, if it has one: a server's refusal has more kinds than `code`.
  package var kind: FailureKind { (underlying as? any ClassifiedError)?.kind ?? code.kind }
}

extension NotibotError.Code {
  var kind: FailureKind {
    switch self {
    case .usage: .usage
    case .noBoard: .noBoard
    case .portBusy: .portBusy
    case .noPermission: .noPermission
    case .noAnswer: .noAnswer
    case .linkLost: .linkLost
    case .refused, .incompatible: .refused
    case .deviceRestarted: .deviceRestarted
    case .environment, .queueFull: .unfitEnvironment
    }
  }

  /// The nearest code.
  init(_ kind: FailureKind) {
    self =
      switch kind {
      case .usage: .usage
      case .noBoard: .noBoard
      case .portBusy: .portBusy
      case .noPermission: .noPermission
      case .noAnswer: .noAnswer
      case .linkLost: .linkLost
      case .refused: .incompatible
      case .deviceRestarted: .deviceRestarted
      case .testFailed, .flashingFailed, .unfitEnvironment, .hungUp, .interrupted, .quit, .terminated:
        .environment
      }
  }
}

// MARK: Where errors come from

extension NotibotError {
  init(_ error: PortError) {
    self.init(
      code: Code(error.kind), port: error.port, operation: error.operation, reason: error.reason,
      hint: error.hint,
      underlying: error)
  }

  /// The end of a session, or of the attempt to open one, while `operation` was going on.
  ///
  /// - Parameter why: what the text says that came instead of an answer.
  package init(
    _ end: SessionEnd, port: String, operation: String,
    why: ConsoleEvidence.Finding = ConsoleEvidence().finding(echoes: 0)
  ) {
    let (code, reason, hint): (Code, String, String) =
      switch end {
      case .closed: (.linkLost, "this side closed the session", "")
      case .noAnswer: (Code(why.kind), why.reason, why.hint)
      case .silent where why.kind == .deviceRestarted: (.deviceRestarted, why.reason, why.hint)
      case .refused(.noCommonVersion, let versions):
        (
          .incompatible,
          "the device supports protocol versions \(versions.lowest) to \(versions.highest), this host version 1",
          "update the older of the two"
        )
      case .refused(.malformed, _):
        (
          .incompatible, "the device could not parse the SYN of this host",
          "report this to the developers of the firmware"
        )
      case .refused(let reason, _):
        (
          .incompatible, "the device refused the session (RST reason \(reason.wire))",
          "update the older of the two"
        )
      case .deviceRestarted:
        (.deviceRestarted, "the device restarted", "read its console text")
      case .unknownToDevice: (.linkLost, "the device no longer knows the session", "connect again")
      case .closedByDevice: (.linkLost, "the device closed the session", "connect again")
      case .silent:
        (
          .linkLost, "the device was silent for 5 s",
          "read its console text with notibot monitor; check the cable and the power supply"
        )
      case .applicationStalled:
        (.noAnswer, "the link answers, but the application did not for 10 s", "reset the board")
      case .transactionTimedOut: (.noAnswer, "no answer to a request for 30 s", "reset the board")
      case .bearerBroken(let fault): (.linkLost, "\(fault)", "report this to the developers of the firmware")
      case .profileMissing:
        (.incompatible, "the device has no Notibot service", "check that it runs Notibot firmware")
      case .portGone:
        (.linkLost, "the device was disconnected", "check the cable and the power supply, then connect again")
      case .connectionLost:
        (.linkLost, "the connection was lost", "check that the device runs, then connect again")
      }
    self.init(code: code, port: port, operation: operation, reason: reason, hint: hint, underlying: end)
  }

  /// A request that failed.
  package init(_ failure: RequestFailure, port: String, operation: String) {
    switch failure {
    case .outcomeUnknown(let end):
      self.init(end, port: port, operation: operation)
      isOutcomeUnknown = true
    case .notSent(let end): self.init(end, port: port, operation: operation)
    case .queueFull:
      self.init(
        code: .queueFull, port: port, operation: operation, reason: "too many requests are pending",
        hint: "await some of their results first")
    case .badLength(let bytes):
      self.init(
        code: .usage, port: port, operation: operation, reason: "\(bytes) bytes do not fit",
        hint: "a notification has at most 512 bytes of JSON")
    case .unsupported:
      self.init(
        code: .incompatible, port: port, operation: operation,
        reason: "not supported by the device", hint: "update its firmware")
    }
  }

  /// A request that the device answered with an error.
  package init(_ error: ATTError, port: String, operation: String) {
    let hint =
      switch error {
      case .insufficientResources: "dismiss notifications on the device, then send again"
      case .notANotification: "check the fields and their limits"
      case _: ""
      }
    self.init(
      code: .refused(error), port: port, operation: operation,
      reason: "refused by the device: \(error)",
      hint: hint, underlying: error)
  }
}

extension BearerFault: CustomStringConvertible {
  package var description: String {
    switch self {
    case .answersAnotherRequest(let expected, let seen):
      "the device answered request 0x\(hex(seen)) instead of the oldest, 0x\(hex(expected))"
    case .badRecord: "a record of the connection has a length that no PDU has"
    case .endlessDiscovery(let requests):
      "the device's list of attributes does not end within \(requests) requests"
    case .malformedAnswer(let opcode): "the device's answer to request 0x\(hex(opcode)) is malformed"
    }
  }
}
