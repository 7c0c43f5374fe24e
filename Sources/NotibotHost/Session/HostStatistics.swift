package import NotibotProtocol

/// Counters of a host machine since its creation.
package struct HostStatistics: Equatable, Sendable {
  package var link: LinkStatistics
  package var att: ATTStatistics
  /// Frames, text, echoes and damage, as PROTOCOL.md FRM-12 counts them.
  package var decoder: DecoderCounters
  package var sync: SyncStatistics
  /// Bytes read, zeros and text included.
  package var bytesReceived: Int
  /// Bytes handed to the driver to be written.
  package var bytesSent: Int
}
