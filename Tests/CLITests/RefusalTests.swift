import Foundation
import Glibc
import Testing

/// A server that refuses, and what the commands make of it.
@Suite(.inTurn) struct RefusalTests {
  static let commands = [
    ["count"], ["watch"], ["send", "--app", "a"], ["reset"], ["monitor"], ["test", "--filter", "^FRM-1/"],
    ["bench", "--count", "1"],
  ]

  @Test(arguments: commands)
  func `every command ends with the exit code of the refusal`(command: [String]) async throws {
    let directory = try TemporaryDirectory()
    for exit in [2, 10, 11, 12, 13, 14, 15, 17, 18] as [Int32] {
      let path = directory.file("s\(exit)")
      let server = try RefusingServer(path, exit: exit)
      let ending = try await Program(command + ["-p", "share:\(path)"]).ending()
      #expect(ending.status == .exited(exit), "\(ending.errors)")
      #expect(ending.errors.contains("because of a test"))
      server.stop()
    }
  }

  @Test func `a refusal is never a success, a failed test or a signal`() async throws {
    let directory = try TemporaryDirectory()
    for exit in [0, 1, 130, 999] as [Int32] {
      let path = directory.file("s\(exit)")
      let server = try RefusingServer(path, exit: exit)
      #expect(try await run("count", "-p", "share:\(path)").status == .exited(18))
      server.stop()
    }
  }
}

/// Greets as `notibot share` does, and refuses each request.
private final class RefusingServer: Sendable {
  private let socket: Descriptor

  init(_ path: String, exit: Int32) throws {
    let socket = Descriptor(owning: Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let number = socket.number
    let isBound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(number, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
      }
    }
    guard isBound, chmod(path, 0o600) == 0, listen(number, 8) == 0 else {
      throw SystemError("listen at \(path)")
    }
    self.socket = socket
    let greeting = #"{"protocol":"notibot-share","version":1}"# + "\n"
    let refusal =
      #"{"id":1,"ok":false,"error":{"reason":"because of a test","hint":"none","exit":\#(exit)}}"# + "\n"
    Thread.detachNewThread {
      while true {
        let client = accept(number, nil, nil)
        guard client >= 0 else { return }
        _ = write(client, greeting, greeting.utf8.count)
        var request = [UInt8](repeating: 0, count: 4096)
        _ = read(client, &request, request.count)
        _ = write(client, refusal, refusal.utf8.count)
        // The end comes from the other side.
        _ = read(client, &request, request.count)
        close(client)
      }
    }
  }

  func stop() { shutdown(socket.number, Int32(SHUT_RDWR)) }
}
