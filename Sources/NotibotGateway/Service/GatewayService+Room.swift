#if Gateway
import GatewayRules
import NotibotHost

// A full disk passes: pushes are refused with 503 meanwhile, and nothing of them is kept.
extension GatewayService {
  /// For the sender, and for the user.
  static let noRoom = "no space left on the disk"

  static let outboxIsFull = "the outbox is full"

  /// Why a message of this computer is refused.
  var publishRefusal: PushReason? {
    isStopping ? .shutdown : fullFiles.isEmpty ? nil : .serviceUnavailable
  }

  func handleNoRoom(for file: String) {
    guard fullFiles.insert(file).inserted else { return }
    warn("cannot write \(file): \(Self.noRoom); pushes get 503 until there is room")
  }

  func handleRoom(for file: String) {
    guard fullFiles.remove(file) != nil else { return }
    warn("there is room for \(file) again")
  }

  /// The outbox is open again.
  func use(_ forwarder: Forwarder) {
    gate = OutboxGate(forwarder: forwarder)
    handleRoom(for: folder.outbox)
  }

  /// The outbox is closed because there is no room.
  func handleOutboxFull() {
    isBoardUp = false
    handleNoRoom(for: folder.outbox)
  }

  /// Without its records the gateway cannot keep its promise: it refuses everything, and ends.
  func fail(_ error: JournalError) {
    hasStoreFailed = true
    var failure = NotibotError(error)
    failure.code = .environment
    Task { [forwarder = gate.forwarder, failure] in await forwarder.stop(because: failure) }
  }
}
#endif
