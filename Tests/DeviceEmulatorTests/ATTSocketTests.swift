import Foundation
import Glibc
import NotibotProtocol
import SerialLink
import Testing

@testable import DeviceEmulator

/// The attribute socket from a client's point of view.
@Suite(.serialized)
struct ATTSocketTests {
  /// A connection that carries PDUs.
  private struct Client {
    private let connection: UnixConnection

    init(_ path: String) throws {
      connection = try UnixConnection(path)
    }

    func send(_ stream: [UInt8]) { connection.send(stream) }

    /// Sends PDUs, one record each, in one write.
    func send(pdus: String...) { send(pdus.flatMap { ATTRecord.bytes(of: bytes($0)) }) }

    /// The next PDU in hexadecimal; nil at the end of the connection.
    func nextPDU() async -> String? {
      await connection.reading { connection in
        guard let prefix = connection.read(2) else { return nil }
        return connection.read(Int(prefix[0]) | Int(prefix[1]) << 8).map { hex($0).lowercased() }
      }
    }
  }

  private func withSocket(_ body: (EmulatorServer, String) async throws -> Void) async throws {
    let directory = try TemporaryDirectory()
    let socket = directory.file("att")
    try await withEmulator(att: socket) { server, _ in try await body(server, socket) }
    #expect(directory.names.isEmpty)
  }

  @Test func `only its owner can use the socket, and it is removed with the emulator`() async throws {
    try await withSocket { _, path in #expect(mode(of: path) == S_IFSOCK | 0o600) }
  }

  @Test func `requests are answered in order, whether split or joined`() async throws {
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
      // If the writer had been notified, the notification would precede this answer.
      writer.send(pdus: "0a0300")
      #expect(await writer.nextPDU() == "0b0100")
      #expect(await server.statistics.connectionCount == 2)
    }
  }

  @Test func `an impossible length ends only that connection`() async throws {
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

  @Test func `the fifth connection is closed at once, and a free place is used again`() async throws {
    try await withSocket { server, path in
      var clients = try (0..<4).map { _ in try Client(path) }
      for client in clients {
        client.send(pdus: "0a0300")
        #expect(await client.nextPDU() == "0b0000")
      }
      let fifth = try Client(path)
      #expect(await fifth.nextPDU() == nil)
      #expect(await server.statistics.connections.refused == 1)
      // Its own request has ended it before the last answer arrives.
      clients[0].send(bytes("ffff"))
      #expect(await clients[0].nextPDU() == nil)
      clients[0] = try Client(path)
      clients[0].send(pdus: "0a0300")
      #expect(await clients[0].nextPDU() == "0b0000")
    }
  }

  @Test func `a client that does not read delays no other client, and later gets all its answers`()
    async throws
  {
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
      #expect(await server.perform(.reboot(.software)).ok)
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

  @Test func `the socket of a running emulator is left alone`() async throws {
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
