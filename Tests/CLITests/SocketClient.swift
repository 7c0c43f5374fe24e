import Foundation
import Glibc

/// A connection to the socket of `forward --listen`, read and written line by line.
struct SocketClient {
  private let socket: Descriptor
  let answers: Collected

  init(_ path: String) throws {
    socket = try Self.deaf(path)
    answers = Collected(reading: socket)
  }

  /// A connection that nobody reads.
  static func deaf(_ path: String) throws -> Descriptor {
    let socket = Descriptor(owning: Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let number = socket.number
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard connected == 0 else { throw SystemError("connect to \(path)") }
    return socket
  }

  func write(_ text: String) { socket.write(Array(text.utf8)) }

  func endInput() { shutdown(socket.number, Int32(SHUT_WR)) }

  func answer(_ index: Int) async throws -> JSON { try JSON(parsing: try await answers.line(index)) }

  /// Everything until the connection ends.
  func rest() async throws -> [JSON] {
    try await answers.all().split(separator: "\n").map { try JSON(parsing: String($0)) }
  }

  func close() {
    // The thread that reads it then closes it; a number that is free can be another's at once.
    shutdown(socket.number, Int32(SHUT_RDWR))
  }
}

extension Program {
  /// Returns when `forward --listen` accepts clients.
  func awaitListening() async throws {
    var index = 0
    while try await !errors.line(index).hasPrefix("listening at ") { index += 1 }
  }
}
