import Foundation
import Glibc
import NotibotProtocol
import SerialLink
import Testing

@testable import DeviceEmulator

/// The attribute socket as clients find it.
@Suite(.serialized)
struct ATTSocketTests {
  /// A connection to the socket; what is not there within 5 s does not come.
  private final class Client: Sendable {
    private let descriptor: Int32

    init(_ path: String) throws {
      descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      let result = withUnsafePointer(to: address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      guard result == 0 else { throw HostPort.Failure.cannotOpen(errno: errno) }
      var limit = timeval(tv_sec: 5, tv_usec: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    func send(_ stream: [UInt8]) {
      _ = Glibc.send(descriptor, stream, stream.count, Int32(MSG_NOSIGNAL))
    }

    /// Sends PDUs, one record each, in one piece.
    func send(pdus: String...) { send(pdus.flatMap { ATTRecord.bytes(of: bytes($0)) }) }

    /// The next PDU in hexadecimal; nil at the end of the connection. Waits on a thread of its own: those that tests
    /// share are few, and the emulator needs one.
    func nextPDU() async -> String? {
      await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: self.readPDU()) }
      }
    }

    private func readPDU() -> String? {
      guard let prefix = read(2) else { return nil }
      return read(Int(prefix[0]) | Int(prefix[1]) << 8).map { hex($0).lowercased() }
    }

    private func read(_ count: Int) -> [UInt8]? {
      var buffer = [UInt8](repeating: 0, count: count)
      return recv(descriptor, &buffer, count, Int32(MSG_WAITALL)) == count ? buffer : nil
    }
  }

  private func withSocket(_ body: (EmulatorServer, String) async throws -> Void) async throws {
    let directory = try TemporaryDirectory()
    let socket = directory.file("att")
    try await withEmulator(att: socket) { server, _ in try await body(server, socket) }
    #expect(directory.names.isEmpty)
  }

  @Test func `the socket is its owner's alone, and goes with the emulator`() async throws {
    try await withSocket { _, path in #expect(mode(of: path) == S_IFSOCK | 0o600) }
  }

  @Test func `requests are answered in order, in pieces or joined`() async throws {
    try await withSocket { _, path in
      let client = try Client(path)
      client.send(pdus: "020502", "0a0300", "0a0600")
      for answer in ["030502", "0b0000", "010a060002"] { #expect(await client.nextPDU() == answer) }
      for byte in bytes("0300 0a0300") { client.send([byte]) }
      #expect(await client.nextPDU() == "0b0000")
    }
  }

  @Test func `two clients are two bearers on one store`() async throws {
    try await withSocket { server, path in
      let (writer, reader) = (try Client(path), try Client(path))
      reader.send(pdus: "12 0400 0100")
      #expect(await reader.nextPDU() == "13")
      writer.send(pdus: "020502")
      #expect(await writer.nextPDU() == "030502")
      writer.send(ATTRecord.bytes(of: [0x12, 6, 0] + Array(sampleJSON.utf8)))
      #expect(await writer.nextPDU() == "13")
      #expect(await reader.nextPDU() == "1b03000100")
      // Had the writer been notified, it would be told before this answer.
      writer.send(pdus: "0a0300")
      #expect(await writer.nextPDU() == "0b0100")
      #expect(await server.statistics.connectionCount == 2)
    }
  }

  @Test func `an impossible length ends that connection alone`() async throws {
    try await withSocket { server, path in
      let (good, bad) = (try Client(path), try Client(path))
      bad.send(bytes("0300 0a0300 0000"))
      #expect(await bad.nextPDU() == "0b0000")
      #expect(await bad.nextPDU() == nil)
      good.send(pdus: "0a0300")
      #expect(await good.nextPDU() == "0b0000")
      #expect(await server.statistics.connections.malformed == 1)
    }
  }

  @Test func `the fifth connection is closed at once, and a place that is free is taken again`() async throws
  {
    try await withSocket { server, path in
      var clients = try (0..<4).map { _ in try Client(path) }
      for client in clients {
        client.send(pdus: "0a0300")
        #expect(await client.nextPDU() == "0b0000")
      }
      let fifth = try Client(path)
      #expect(await fifth.nextPDU() == nil)
      #expect(await server.statistics.connections.refused == 1)
      // Its own request has ended it when the last answer has come.
      clients[0].send(bytes("ffff"))
      #expect(await clients[0].nextPDU() == nil)
      clients[0] = try Client(path)
      clients[0].send(pdus: "0a0300")
      #expect(await clients[0].nextPDU() == "0b0000")
    }
  }

  @Test func `a client that reads nothing delays nobody else, and finds all its answers`() async throws {
    try await withSocket { _, path in
      let (greedy, other) = (try Client(path), try Client(path))
      let count = 1000
      greedy.send((0..<count).flatMap { _ in bytes("0300 0a0300") })
      other.send(pdus: "0a0100")
      #expect(await other.nextPDU() == "0b" + serviceUUID)
      for _ in 0..<count { #expect(await greedy.nextPDU() == "0b0000") }
    }
  }

  @Test func `a restart ends the connection, and the next one is answered after the boot`() async throws {
    try await withSocket { server, path in
      let first = try Client(path)
      first.send(pdus: "0a0300")
      #expect(await first.nextPDU() == "0b0000")
      #expect(await server.perform(.device(.reboot(.software))).ok)
      #expect(await first.nextPDU() == nil)
      let second = try Client(path)
      second.send(pdus: "0a0300")
      #expect(await second.nextPDU() == "0b0000")
    }
  }

  @Test func `pulling the plug of the line leaves connections alone`() async throws {
    try await withSocket { server, path in
      let client = try Client(path)
      #expect(await server.perform(.unplug).ok)
      client.send(pdus: "0a0300")
      #expect(await client.nextPDU() == "0b0000")
    }
  }

  @Test func `the socket of an emulator that lives is left alone`() async throws {
    try await withSocket { _, path in
      await #expect(throws: PortError.self) {
        try await EmulatorServer.start(profile: .quiet, attSocket: path, seed: 2)
      }
      let client = try Client(path)
      client.send(pdus: "0a0300")
      #expect(await client.nextPDU() == "0b0000")
    }
  }
}
