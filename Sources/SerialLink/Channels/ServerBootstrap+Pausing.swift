import Glibc
package import NIOCore
package import NIOPosix

extension ServerBootstrap {
  /// A server that pauses for a second when descriptors or memory for another connection are used
  /// up, and reports that once on standard error. Without the pause it would try again at once, and
  /// keep a processor busy.
  package static func pausing(on loop: any EventLoop) -> ServerBootstrap {
    ServerBootstrap(group: loop).serverChannelInitializer { channel in
      channel.eventLoop.makeCompletedFuture {
        var hasReported = false
        let pause = AcceptBackoffHandler(shouldForwardIOErrorCaught: false) { error in
          // Any other error is that of one client.
          guard [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.errnoCode) else { return nil }
          if !hasReported {
            let reason = systemText(error.errnoCode)
            OutputQueue.errors.put("cannot accept connections: \(reason); trying again each second\n")
          }
          hasReported = true
          return .seconds(1)
        }
        try channel.pipeline.syncOperations.addHandler(pause)
      }
    }
  }
}
