package import NotibotProtocol

/// Why a session, or the attempt to open one, is over.
package enum SessionEnd: Error, Hashable, Sendable {
  /// This side closed it.
  case closed
  /// No SYN was answered in time.
  case noAnswer
  /// The device answered the SYN by RST. `versions`: those it supports.
  case refused(reason: RSTReason, versions: VersionRange)
  /// The device came up anew: its boot id is another one (LNK-22).
  case deviceRestarted(bootID: UInt32)
  /// The device does not know the session any more (RST reason 1).
  case unknownToDevice
  /// The device said FIN.
  case closedByDevice
  /// No valid frame came for 5 s (LNK-53).
  case silent
  /// The link answers and the application does not (LNK-54).
  case applicationStalled
  /// A request had no answer for 30 s (ATT-7).
  case transactionTimedOut
  /// The device answered a request that it was not asked, or with a PDU that does not parse.
  case bearerBroken(BearerFault)
  /// The device has no Notibot service, or one without the two characteristics.
  case profileMissing
  /// The port is gone: end of stream.
  case portGone
}

/// What was wrong with an answer. Source: PROTOCOL.md section 5.
package enum BearerFault: Hashable, Sendable {
  /// The answer names another request than the oldest one. Both are opcodes.
  case answersAnotherRequest(expected: UInt8, seen: UInt8)
  /// The answer to this request does not parse, or says what it cannot say.
  case malformedAnswer(opcode: UInt8)
  /// So many requests were answered, and the attributes are still not all found.
  case endlessDiscovery(requests: Int)
}
