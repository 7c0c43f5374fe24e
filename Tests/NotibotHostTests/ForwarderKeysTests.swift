import NotibotHost
import NotibotProtocol
import Testing

/// The library's submissions without a board: with a key, and into a full outbox.
@Suite struct ForwarderKeysTests {
  private static let notification = DisplayNotification(app: "Door", title: "Bell", text: "", timestamp: 1)

  private func code(_ body: () async throws -> Void) async -> NotibotError.Code? {
    do {
      try await body()
      return nil
    } catch {
      return (error as? NotibotError)?.code
    }
  }

  @Test func `a key is accepted once, also by the next forwarder`() async throws {
    let folder = try TemporaryFolder()
    let key = try #require(IdempotencyKey([0, 0xFF]))
    for life in 1...2 {
      try await withForwarder(port: folder.file("port"), outbox: folder.file("outbox")) { forwarder in
        let accepted = try await forwarder.submit(Self.notification, key: key)
        #expect(accepted.number == 1 && accepted.isDuplicate == (life == 2) && !accepted.hasKeyConflict)
        var other = Self.notification
        other.title = "Knock"
        let again = try await forwarder.submit(other, key: key)
        #expect(again.number == 1 && again.isDuplicate && again.hasKeyConflict)
      }
    }
  }

  @Test func `a full outbox answers at once`() async throws {
    let folder = try TemporaryFolder()
    var options = ForwardingOptions()
    options.entriesLimit = 1
    try await withForwarder(port: folder.file("port"), outbox: folder.file("outbox"), options: options) {
      forwarder in
      #expect(try await forwarder.submitIfRoom(Self.notification) == 1)
      #expect(await code { try await forwarder.submitIfRoom(Self.notification) } == .queueFull)
      let key = try #require(IdempotencyKey("bell"))
      #expect(await code { try await forwarder.submit(Self.notification, key: key) } == .queueFull)
      try await forwarder.remove(1)
      #expect(try await forwarder.submit(Self.notification, key: key).number == 2)
    }
  }
}
