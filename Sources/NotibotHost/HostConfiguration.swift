package import NotibotProtocol

/// What a host machine is set up with. Every limit has a default that suits a board on a desk.
package struct HostConfiguration: Equatable, Sendable {
  /// What this host announces that it receives (LNK-8); also bounds how many requests it has out.
  package var limits = LinkLimits(frames: 64, requests: 32, mtu: 517, bytes: 65_536)
  /// How long the first session may take to open; `nil`: for ever.
  package var connectTimeout: Duration? = .seconds(2)
  /// How long each later session may take to open; `nil`: for ever.
  package var reconnectTimeout: Duration? = .seconds(10)
  /// The rate of a real line, in bits per second: the time a frame needs on it is added to the resend timer
  /// (LNK-51). `nil`: not known, or no such thing.
  package var lineBitsPerSecond: Int?
  /// Hashes of attribute tables that need no discovery, because their handles are those of ATT-2's table.
  package var knownProfileHashes: Set<UInt32> = [NotibotProfile.hash]
  /// Requests that wait to be sent; more are refused by `RequestFailure.queueFull`.
  package var pendingRequestsLimit = 1024
  /// Whether the host offers identities and SYNC (feature bits 1 and 2). Source: PROTOCOL.md NTF-20, NTF-30.
  package var offersIdentity = true
  /// Who this host says it is (SRC); `nil`: it does not say.
  package var source: UInt32?
  /// The number of this run of the host program (RUN).
  package var run: UInt32?

  package init() {}

  /// What the host announces that it can do. Source: PROTOCOL.md LNK-5.
  var features: Features {
    offersIdentity
      ? [.pipelinedRequests, .optionalKeys, .sync, .framedLog] : [.pipelinedRequests, .framedLog]
  }

  /// What is in use with a device that announced `peer`: what both can do; SYNC needs the optional keys.
  /// Source: PROTOCOL.md LNK-5.
  func featuresInUse(with peer: Features) -> Features {
    let common = features.intersection(peer)
    return common.contains(.optionalKeys) ? common : common.subtracting(.sync)
  }
}
