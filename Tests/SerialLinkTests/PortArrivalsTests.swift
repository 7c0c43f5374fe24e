import Glibc
import Synchronization
import Testing

@testable import SerialLink

struct PortArrivalsTests {
  /// Counts reports, and lets a test await the next ones.
  private final class Reports: Sendable {
    private let count = Atomic(0)
    private let all = Atomic(0)

    func add() {
      count.add(1, ordering: .relaxed)
      all.add(1, ordering: .relaxed)
    }

    var total: Int { all.load(ordering: .relaxed) }

    /// Returns when there is a new report.
    func next() async throws {
      try await waitUntil { count.load(ordering: .relaxed) > 0 }
      count.store(0, ordering: .relaxed)
    }
  }

  private let directory: TemporaryDirectory
  private let reports = Reports()

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func watching(_ path: String, _ body: () async throws -> Void) async throws {
    let reports = reports
    let arrivals = try await PortArrivals.watch(path: path, folders: [], on: testLoop) { _ in reports.add() }
    do {
      try await body()
    } catch {
      await arrivals.close()
      throw error
    }
    await arrivals.close()
  }

  @Test func `a port that is created, replaced, or changes its permissions is reported`() async throws {
    try await watching(directory.file("port")) {
      try directory.write("", to: "port")
      try await reports.next()
      #expect(chmod(directory.file("port"), 0o600) == 0)
      try await reports.next()
      try directory.link("draft", to: "/dev/zero")
      #expect(rename(directory.file("draft"), directory.file("port")) == 0)
      try await reports.next()
    }
  }

  @Test func `removed ports and other names are not reported`() async throws {
    try directory.link("port", to: "/dev/null")
    let ofOther = Reports()
    let arrivals = try await PortArrivals.watch(path: directory.file("other"), folders: [], on: testLoop) {
      _ in
      ofOther.add()
    }
    try await watching(directory.file("port")) {
      #expect(unlink(directory.file("port")) == 0)
      try directory.link("other", to: "/dev/null")
      try await ofOther.next()
      try directory.link("port", to: "/dev/null")
      try await reports.next()
      #expect(reports.total == 1)
    }
    #expect(ofOther.total == 1)
    await arrivals.close()
  }

  @Test func `in a device folder everything is reported`() async throws {
    let reports = reports
    let arrivals = try await PortArrivals.watch(path: nil, folders: [directory.path], on: testLoop) {
      _ in
      reports.add()
    }
    try directory.link("ttyUSB7", to: "/dev/null")
    try await reports.next()
    await arrivals.close()
  }

  @Test func `a missing folder is awaited`() async throws {
    try await watching(directory.file("serial/by-id/board")) {
      try directory.write("", to: "serial/.keep")
      try await reports.next()
      try directory.link("serial/by-id/board", to: "/dev/null")
      try await reports.next()
    }
  }

  @Test func `folders are derived from paths as in the shell`() {
    #expect(PortArrivals.folder(of: "/dev/ttyUSB0") == "/dev")
    #expect(PortArrivals.folder(of: "/port") == "/")
    #expect(PortArrivals.folder(of: "port") == ".")
    #expect(PortArrivals.folder(of: "./run/port") == "./run")
  }
}
