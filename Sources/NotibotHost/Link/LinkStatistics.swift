/// Counters of a link since its machine was created. Never reset; all counts of frames unless they
/// say otherwise.
package struct LinkStatistics: Equatable, Sendable {
  /// Valid frames received, of any session.
  package var framesReceived = 0
  package var framesSent = 0
  /// DATA frames sent for the first time.
  package var dataSent = 0
  /// DATA frames sent again.
  package var resent = 0
  /// DATA frames received in order, including held ones when they are delivered.
  package var dataReceived = 0
  package var naksSent = 0
  package var naksReceived = 0
  /// Duplicate DATA frames, and those too far ahead (LNK-32).
  package var outOfWindow = 0
  /// Frames of a session other than the open one, and frames received without an open session.
  package var foreign = 0
  /// Valid frames whose payload is not what their type says (LNK-3, LNK-7, LNK-19).
  package var malformed = 0
  /// DATA and UDATA frames on a channel that the host does not serve (LNK-4).
  package var unknownChannel = 0
  /// Acks outside the range of unacknowledged frames (LNK-31).
  package var badAcks = 0
  /// Frames not sent because the line was blocked.
  package var outputDropped = 0
  /// Times the resend timer expired.
  package var resendTimeouts = 0
  /// Sessions opened.
  package var sessions = 0
  /// The smoothed round trip of the last session, in nanoseconds; `nil` before the first sample.
  package var roundTripNs: Int64?

  package init() {}
}
