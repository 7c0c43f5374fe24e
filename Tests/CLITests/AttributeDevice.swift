import Foundation
import Glibc
import Synchronization

/// A device at an attribute socket that answers each PDU as a test says.
final class AttributeDevice: Sendable {
  /// The name of its port.
  var port: String { "att:\(path)" }
  /// PDUs received so far, without those of the opening.
  var writes: [[UInt8]] { received.withLock(\.self).filter { $0.first == 0x12 } }

  private let path: String
  private let listener: Descriptor
  private let received = Mutex<[[UInt8]]>([])

  /// - Parameters:
  ///   - path: of the socket, which must not exist.
  ///   - answer: the PDUs that follow one of the host; nil ends the connection.
  init(_ path: String, answer: @escaping @Sendable ([UInt8]) -> [[UInt8]]?) throws {
    self.path = path
    listener = Descriptor(
      owning: Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener.number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard bound == 0, listen(listener.number, 4) == 0 else { throw SystemError("listen at \(path)") }
    Thread.detachNewThread { [self] in
      while case let number = accept(listener.number, nil, nil), number >= 0 {
        serve(Descriptor(owning: number), answer)
      }
    }
  }

  /// No further connection is made.
  func stop() { shutdown(listener.number, Int32(SHUT_RDWR)) }

  private func serve(_ connection: Descriptor, _ answer: ([UInt8]) -> [[UInt8]]?) {
    defer { connection.close() }
    guard let never = try? Descriptor.pipe() else { return }
    var bytes: [UInt8] = []
    while let more = connection.read(unless: never.read) {
      bytes += more
      while bytes.count >= 2, case let length = Int(bytes[0]) | Int(bytes[1]) << 8, bytes.count >= 2 + length
      {
        let pdu = Array(bytes[2..<2 + length])
        bytes.removeFirst(2 + length)
        received.withLock { $0.append(pdu) }
        guard let answers = answer(pdu) else { return }
        for answer in answers {
          connection.write([UInt8(answer.count & 0xFF), UInt8(answer.count >> 8)] + answer)
        }
      }
    }
  }

  private static func uuid(_ text: String) -> [UInt8] {
    let digits = Array(text.filter { $0 != "-" })
    return stride(from: 0, to: 32, by: 2).reversed().compactMap {
      UInt8(String(digits[$0..<$0 + 2]), radix: 16)
    }
  }

  private static let service = uuid("4fafc201-1fb5-459e-8fcc-c5c9c331914b")
  private static let count = uuid("beb5483e-36e1-4688-b7f5-ea07361b26a8")
  private static let data = uuid("1c95d5e3-d8f7-413a-bf3d-7a2e5d7be87e")

  /// The answers of a Notibot without notifications.
  @Sendable static func usual(_ pdu: [UInt8]) -> [[UInt8]] {
    switch (pdu[0], pdu.count > 1 ? pdu[1] : 0) {
    case (0x02, _): [[0x03, 0x05, 0x02]]
    case (0x10, _): [[0x11, 20, 1, 0, 7, 0] + service]
    case (0x08, 1): [[0x09, 21, 2, 0, 0x12, 3, 0] + count + [5, 0, 0x18, 6, 0] + data]
    case (0x04, _): [[0x05, 1, 4, 0, 2, 0x29, 5, 0, 3, 0x28, 7, 0, 2, 0x29]]
    case (0x0A, 3): [[0x0B, 0, 0]]
    case (0x12, _): [[0x13]]
    case (let request, let handle): [[0x01, request, handle, 0, 0x0A]]
    }
  }
}
