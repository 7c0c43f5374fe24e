import CNotibotCore
import NotibotProtocol

/// The firmware's attribute server with one bearer, without a link.
final class FirmwareServer {
  private let device: UnsafeMutablePointer<nb_device_t>
  private let config: UnsafeMutablePointer<nb_config_t>
  private let bearer: UnsafeMutablePointer<nb_bearer_t>
  private let slots: UnsafeMutablePointer<nb_slot_t>
  private let writers: UnsafeMutablePointer<nb_writer_t>
  private let gone: UnsafeMutablePointer<nb_gone_t>
  private let queues: UnsafeMutablePointer<UInt8>

  /// - Parameter source: the writer of notifications without the key `src`; 0 for none.
  init(mtu: UInt16, capacity: UInt16, keysInUse: Bool, isFirmwareMode: Bool, source: UInt32) {
    device = .allocate(capacity: 1)
    config = .allocate(capacity: 1)
    bearer = .allocate(capacity: 1)
    slots = .allocate(capacity: Int(capacity))
    writers = .allocate(capacity: 4)
    gone = .allocate(capacity: 64)
    queues = .allocate(capacity: 8192)
    var made = nb_config_t()
    made.frames = 16
    made.requests = 8
    made.mtu = mtu
    made.features = keysInUse ? 3 : 1
    made.is_firmware_mode = isFirmwareMode
    made.can_evict = true
    made.rx_queue = queues
    made.rx_queue_bytes = 4096
    made.tx_queue = queues + 4096
    made.tx_queue_bytes = 4096
    made.slots = slots
    made.capacity = capacity
    made.writers = writers
    made.writer_count = 4
    made.gone = gone
    made.gone_count = 64
    config.initialize(to: made)
    var boot = nb_boot_t()
    let result = nb_device_start(device, config, &boot, 0)
    precondition(result == 0, "the firmware refuses its configuration")
    nb_bearer_open(device, bearer)
    bearer.pointee.src = source
  }

  deinit {
    device.deallocate()
    config.deallocate()
    bearer.deallocate()
    slots.deallocate()
    writers.deallocate()
    gone.deallocate()
    queues.deallocate()
  }

  /// The response; nil if there is none.
  func ask(_ pdu: [UInt8]) -> [UInt8]? {
    let answer = [UInt8](unsafeUninitializedCapacity: 600) { buffer, count in
      count = max(0, Int(nb_att_handle(device, bearer, pdu, pdu.count, buffer.baseAddress, buffer.count)))
    }
    return answer.isEmpty ? nil : answer
  }

  /// All pending notifications.
  func drainNotifications() -> [[UInt8]] {
    var found: [[UInt8]] = []
    while true {
      let pdu = [UInt8](unsafeUninitializedCapacity: 600) { buffer, count in
        count = max(0, Int(nb_att_next_notification(device, bearer, buffer.baseAddress, buffer.count)))
      }
      guard !pdu.isEmpty else { return found }
      found.append(pdu)
    }
  }

  /// Returns whether there was such a notification.
  func dismiss(_ item: UInt32) -> Bool { nb_device_dismiss(device, item) == 0 }

  var profileHash: UInt32 { nb_att_profile_hash() }
}
