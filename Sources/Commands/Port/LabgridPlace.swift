import Foundation
import SerialLink

/// A place of labgrid, acquired for the duration of a closure, and released however that ends.
struct LabgridPlace: Sendable {
  /// Time limit for the release of a place.
  static let releaseLimitSeconds = 10

  /// The place of the port that a command uses, during `withPlace`.
  @TaskLocal static var held: LabgridPlace?

  private let name: String
  private let connection: LabgridClient.Connection

  /// Runs `body` with a name that can be opened: for a place its serial port, which is always
  /// released, else the name itself.
  ///
  /// - Throws: `Failure` when labgrid is missing (18), does not know the place (10) or has
  ///   it acquired for another user (11); the error of `body`.
  static func withPlace<Result: Sendable>(
    of name: PortName, _ body: (PortName) async throws -> Result
  ) async throws -> Result {
    guard case .labgrid(let place) = name else { return try await body(name) }
    let held = LabgridPlace(name: name.description.printable, connection: try await LabgridClient.connect())
    do {
      let request = LabgridClient.Request(
        place: place.text, tags: place.tags.isEmpty ? nil : place.tags, wait: place.waitSeconds)
      let address = try await held.address(in: held.connection.ask(request))
      let result = try await $held.withValue(held) { try await body(.address(address)) }
      await held.release()
      return result
    } catch {
      await held.release()
      throw error
    }
  }

  /// The places that have all tags of `name`; itself if it has none. Acquires nothing.
  ///
  /// - Throws: `Failure` when there is no such place (10), or no labgrid (18).
  static func all(matching name: PortName) async throws -> [PortName] {
    guard case .labgrid(let place) = name, !place.tags.isEmpty else { return [name] }
    let label = name.description.printable
    let connection = try await LabgridClient.connect()
    let answer = await connection.ask(LabgridClient.Request(list: place.tags))
    _ = await connection.end(within: .seconds(releaseLimitSeconds))
    try Task.checkCancellation()
    guard let found = answer?.places else { throw failure(label, answer?.errors ?? "") }
    guard !found.isEmpty else { throw failure(label, "no place matches nothing") }
    return found.map { .labgrid(LabgridName(place: $0, waitSeconds: place.waitSeconds)) }
  }

  /// Switches the power of the board off and on with labgrid's driver. Returns its port, which can
  /// be another one.
  func cyclePower() async throws -> PortAddress {
    // The power must not stay off.
    let answer = await Interruption.finishing(within: .seconds(60)) {
      await Task { await connection.ask(LabgridClient.Request(run: ["power", "cycle"])) }.value
    }
    if let errors = answer?.errors {
      throw Failure(
        .unfitEnvironment, "cannot switch the power of \(name): \(Self.reason(in: errors))",
        remedy: "check it with: labgrid-client -p PLACE power cycle")
    }
    return try address(in: answer)
  }

  private func release() async {
    let limit = Duration.seconds(Self.releaseLimitSeconds)
    let problem = await Interruption.finishing(within: limit) { await connection.end(within: limit) }
    if let problem { Output.note("\(name) is possibly not released: \(Self.reason(in: problem))") }
  }

  private func address(in answer: LabgridClient.Answer?) throws -> PortAddress {
    try Task.checkCancellation()
    guard let shown = answer?.shown else { throw Self.failure(name, answer?.errors ?? "") }
    let place = (answer?.place ?? "PLACE").printable
    let ports =
      answer?.forward.map { LabgridListing.exported($0).map { [$0] } ?? [] }
      ?? LabgridListing.serialPorts(in: shown)
    guard let port = ports.first, ports.count == 1 else {
      throw Failure(
        .noBoard, "cannot open \(name): the place has \(ports.count) serial ports, not one",
        remedy: "check 'labgrid-client -p \(place) show'; create one place per board")
    }
    Output.note(
      "\(name) is \(port.description.printable)" + (name.hasSuffix(":\(place)") ? "" : " of \(place)"))
    return port
  }

  private static func reason(in errors: String) -> String {
    let line = errors.split(separator: "\n").last.map(String.init) ?? "labgrid-client printed no error"
    let reason = line.split(separator: "Error: ").last.map(String.init) ?? line
    // The words of an ssh command follow.
    return String((reason.split(separator: " with args ").first ?? "").prefix(300)).printable
  }

  /// Texts of labgrid and ssh, and what they mean.
  private static let meanings: [(text: String, kind: FailureKind, remedy: String)] = [
    ("matches nothing", .noBoard, "list the places with: labgrid-client -v places"),
    ("matches multiple places", .noBoard, "list the places with: labgrid-client places"),
    ("no matching remote resource", .noBoard, "check that its exporter runs: labgrid-client resources"),
    ("orphaned resource", .noBoard, "check that its exporter runs: labgrid-client resources"),
    ("already acquired", .portBusy, "list the users with: labgrid-client who"),
    ("not reserved for", .portBusy, "list them with: labgrid-client reservations"),
    ("Permission denied (", .noPermission, "use a key: notibot cannot ask for a password"),
    ("Host key verification failed", .noPermission, "connect once with ssh, and check its key"),
    ("[Errno ", .unfitEnvironment, "check that it starts: labgrid-client --help"),
    ("with args ['ssh'", .unfitEnvironment, "check LG_PROXY: ssh must connect to it without a question"),
  ]

  private static func failure(_ name: String, _ errors: String) -> Failure {
    let text = "cannot acquire \(name): \(reason(in: errors))"
    guard let meaning = meanings.first(where: { errors.contains($0.text) }) else {
      return Failure(
        .unfitEnvironment, text, remedy: "check that LG_COORDINATOR names a running coordinator")
    }
    return Failure(meaning.kind, text, remedy: meaning.remedy)
  }
}
