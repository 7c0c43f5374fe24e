import Foundation
import NotibotHost
import Testing

/// Options of the library that are out of range.
@Suite struct OptionRangeTests {
  private func usageReason(_ body: () async throws -> Void) async -> String? {
    do {
      try await body()
      return nil
    } catch let error as NotibotError where error.code == .usage {
      return error.reason
    } catch {
      return "\(error)"
    }
  }

  @Test(arguments: [
    (0, 1024, "requestsLimit is 0"), (33, 1024, "requestsLimit is 33"), (1, 0, "eventsLimit is 0"),
  ])
  func `a device is not opened with options out of range`(
    requests: Int, events: Int, reason: String
  ) async throws {
    var options = DeviceOptions()
    options.requestsLimit = requests
    options.eventsLimit = events
    let seen = await usageReason { [options] in
      try await withDevice(at: "/dev/null/none", options: options) { _ in }
    }
    #expect(seen == reason)
  }

  @Test(arguments: [0, 1_000_001])
  func `an outbox is not made with options out of range`(limit: Int) async throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    var options = ForwardingOptions()
    options.entriesLimit = limit
    let seen = await usageReason { [options] in
      try await withForwarder(port: "auto", outbox: path, options: options) { _ in }
    }
    #expect(seen == "entriesLimit is \(limit)")
    #expect(!FileManager.default.fileExists(atPath: path))
  }
}
