package import NotibotProtocol

/// The configuration of a host machine. The defaults suit a board on a desk.
package struct HostConfiguration: Equatable, Sendable {
  /// The receive limits that this host announces (LNK-8); they also bound its requests in flight.
  package var limits = LinkLimits(frames: 64, requests: 32, mtu: 517, bytes: 65_536)
  /// How long to wait for the first session to open; `nil`: indefinitely.
  package var connectTimeout: Duration? = .seconds(2)
  /// How long to wait for each later session to open; `nil`: indefinitely.
  package var reconnectTimeout: Duration? = .seconds(10)
  /// The rate of a real line, in bits per second: the time a frame needs on it is added to the
  /// resend timer (LNK-51). `nil`: unknown, or not applicable.
  package var lineBitsPerSecond: Int?
  /// Hashes of attribute tables that need no discovery, because their handles are those of ATT-2's
  /// table.
  package var knownProfileHashes: Set<UInt32> = [NotibotProfile.hash]
  /// Queued requests, at most; more fail with `RequestFailure.queueFull`.
  package var pendingRequestsLimit = 1024
  /// Whether the host offers identities and SYNC (feature bits 1 and 2). Source: PROTOCOL.md
  /// NTF-20, NTF-30.
  package var offersIdentity = true
  /// The identity that this host announces (SRC); `nil`: none.
  package var source: UInt32?
  /// The number of this run of the host program (RUN).
  package var run: UInt32?

  package init() {}

  /// The features that the host announces. Source: PROTOCOL.md LNK-5.
  var features: Features {
    offersIdentity
      ? [.pipelinedRequests, .optionalKeys, .sync, .framedLog, .keptActions]
      : [.pipelinedRequests, .framedLog]
  }

  /// The features in use with a device that announced `peer`: those of both sides; SYNC needs the
  /// optional keys, and kept actions need both. Source: PROTOCOL.md LNK-9.
  func featuresInUse(with peer: Features) -> Features {
    let common = features.intersection(peer)
    guard common.contains(.optionalKeys) else { return common.subtracting([.sync, .keptActions]) }
    return common.contains(.sync) ? common : common.subtracting(.keptActions)
  }
}
