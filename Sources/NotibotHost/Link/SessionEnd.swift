package import NotibotProtocol

/// Why a session, or the attempt to open one, ended.
package enum SessionEnd: Error, Hashable, Sendable {
  /// This side closed it.
  case closed
  /// No SYN was answered in time.
  case noAnswer
  /// The device answered the SYN with RST. `versions`: the versions that it supports.
  case refused(reason: RSTReason, versions: VersionRange)
  /// The device restarted: its boot id is different (LNK-22).
  case deviceRestarted(bootID: UInt32)
  /// The device no longer knows the session (RST reason 1).
  case unknownToDevice
  /// The device sent FIN.
  case closedByDevice
  /// No valid frame was received for 5 s (LNK-53).
  case silent
  /// The link answers and the application does not (LNK-54).
  case applicationStalled
  /// A request had no answer for 30 s (ATT-7).
  case transactionTimedOut
  /// The device sent an answer without a request, or a PDU that does not parse.
  case bearerBroken(BearerFault)
  /// The device has no Notibot service, or one without the two characteristics.
  case profileMissing
  /// The port is gone: end of stream.
  case portGone
  /// The connection has ended, without a session.
  case connectionLost
}

/// The defect of an answer. Source: PROTOCOL.md section 5.
package enum BearerFault: Hashable, Sendable {
  /// The answer names a request other than the oldest one. Both are opcodes.
  case answersAnotherRequest(expected: UInt8, seen: UInt8)
  /// The answer to this request does not parse, or has impossible content.
  case malformedAnswer(opcode: UInt8)
  /// This many requests were answered, and discovery is still not complete.
  case endlessDiscovery(requests: Int)
  /// A record of the connection is empty, or longer than any PDU.
  case badRecord
}
