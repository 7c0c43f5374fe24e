import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// Makes NIO channels of descriptors that are neither files nor sockets.
///
/// In place of `takingOwnershipOfDescriptor(inputOutput:)`, which traps when no descriptor is left,
/// and closes twice when an initializer throws (swift-nio 2.101).
enum DescriptorChannel {
  /// The direction of bytes through the descriptor.
  enum Direction {
    case input
    case inputAndOutput
  }

  /// Takes ownership of `descriptor` in every case: on failure it is closed. `setUp` runs on `loop`
  /// before the first byte is read; what it throws is thrown on.
  static func open(
    _ descriptor: Int32, _ direction: Direction, on loop: any EventLoop,
    setUp: @escaping SerialChannel.Initializer
  ) async throws -> any Channel {
    // Once a channel exists it owns its descriptors, and NIO closes them on failure.
    let isHandedOver = HandedOver()
    let bootstrap = NIOPipeBootstrap(group: loop)
      .channelOption(.allowRemoteHalfClosure, value: false)
      .channelOption(
        .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: SerialChannel.readSizeBytes)
      )
      .channelInitializer { channel in
        isHandedOver.flag.store(true, ordering: .releasing)
        return channel.eventLoop.makeCompletedFuture { try setUp(channel) }
      }
    let input = OwnedDescriptor(owning: descriptor)
    switch direction {
    case .input:
      do {
        let channel = try await bootstrap.takingOwnershipOfDescriptor(input: input.raw).get()
        _ = input.release()
        return channel
      } catch {
        if isHandedOver.flag.load(ordering: .acquiring) { _ = input.release() }
        throw error
      }
    case .inputAndOutput:
      let copy = fcntl(input.raw, F_DUPFD_CLOEXEC, 3)
      guard copy >= 0 else { throw IOError(errnoCode: errno, reason: "dup") }
      let output = OwnedDescriptor(owning: copy)
      do {
        let channel = try await bootstrap.takingOwnershipOfDescriptors(input: input.raw, output: output.raw)
          .get()
        _ = input.release()
        _ = output.release()
        return channel
      } catch {
        if isHandedOver.flag.load(ordering: .acquiring) {
          _ = input.release()
          _ = output.release()
        }
        throw error
      }
    }
  }

  private final class HandedOver: Sendable {
    let flag = Atomic(false)
  }
}
