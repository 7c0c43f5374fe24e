import ArgumentParser
import Foundation
import SerialLink

/// `--all` of a command for one board: it runs on several, each with its own output.
struct AllBoards: ParsableArguments {
  /// More than the ports of a host.
  static let limit = 256

  @Flag(help: "Use all boards that match --port, in parallel; with auto, every known board.")
  var all = false

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("With --all: boards at a time, 1-\(limit) (default: all).", valueName: "number"))
  var jobs: Int?

  func validate() throws {
    guard 1...Self.limit ~= jobs ?? 1 else { throw ValidationError("--jobs must be 1 to \(Self.limit)") }
    guard all || jobs == nil else { throw ValidationError("--jobs requires --all") }
  }

  /// All boards that a name matches.
  static func matching(_ name: PortName) async throws -> [PortName] {
    var found: [PortName] = []
    for place in try await LabgridPlace.all(matching: name) { found += PortList().all(matching: place) }
    guard found.count <= limit else {
      throw Failure(
        .usage, "\(name.description.printable) matches \(found.count) boards, of at most \(limit)",
        remedy: "name fewer")
    }
    return found
  }

  /// Runs `body` with the options of the port, or with those of each board: a board that fails does
  /// not affect the others.
  ///
  /// - Parameters:
  ///   - isJSON: whether `body` prints one JSON document.
  ///   - begin: called with the names of several boards before they begin.
  /// - Throws: the error of `body`; with `--all` a `Failure` unless all succeeded.
  func run(
    _ line: LineOptions, isJSON: Bool, begin: @Sendable ([String]) -> Void = { _ in },
    _ body: @escaping @Sendable (LineOptions) async throws -> Void
  ) async throws {
    guard all else { return try await body(line) }
    let names = try await Self.matching(try line.resolvedPort().value).map(\.description)
    begin(names)
    let outputs = names.map { Output.Board(name: $0.printable) }
    var failures: [Int: Failure] = [:]
    await withTaskGroup(of: (Int, Failure?).self) { group in
      for (index, output) in outputs.enumerated() {
        if index >= jobs ?? names.count {
          if let (index, failure) = await group.next() { failures[index] = failure }
        }
        var own = line
        own.port = names[index]
        group.addTask { [own] in (index, await Self.failure(of: own, output, body)) }
      }
      for await (index, failure) in group { failures[index] = failure }
    }
    let ends = names.indices.map { index in (names[index], failures[index]) }
    if isJSON { Output.json(document: Self.document(of: outputs, ends)) }
    for (name, failure) in ends {
      Output.note("\(failure == nil ? "ok  " : "FAIL") \(name)\(failure.map { ": \($0)" } ?? "")")
    }
    if let failure = Self.judgement(of: ends) { throw failure }
  }

  private static func document(of outputs: [Output.Board], _ ends: [(String, Failure?)]) -> String {
    let boards = zip(outputs, ends).map { output, end in
      var record = JSONRecord()
      record.add("port", end.0)
      record.add("exit", end.1?.kind.rawValue ?? 0)
      record.add("error", end.1?.description)
      if let report = output.document { record.add("report", json: report) }
      return record.document()
    }
    var record = JSONRecord()
    record.add("schema", "notibot.boards")
    record.add("version", 1)
    record.add("boards", json: "[\(boards.joined(separator: ","))]")
    return record.document()
  }

  private static func failure(
    of line: LineOptions, _ output: Output.Board,
    _ body: @Sendable (LineOptions) async throws -> Void
  ) async -> Failure? {
    do {
      try Task.checkCancellation()
      try await Output.$board.withValue(output) { try await body(line) }
      // A report that was cut short is no success.
      try Task.checkCancellation()
      return nil
    } catch {
      return failure(of: error)
    }
  }

  static func failure(of error: any Error) -> Failure {
    switch error {
    case let error as any ClassifiedError: Failure(error)
    case is CancellationError: Interruption.failure ?? Failure(.interrupted, "interrupted")
    case _: Failure(.unfitEnvironment, errorText(error).printable)
    }
  }

  /// A failed test takes precedence over a missing board: it is the effect of the change under
  /// test. nil: all boards passed.
  static func judgement(of ends: [(name: String, failure: Failure?)]) -> Failure? {
    let failures = ends.compactMap { end in end.failure.map { (end.name, $0) } }
    guard let (name, first) = failures.first(where: { $0.1.kind == .testFailed }) ?? failures.first else {
      return nil
    }
    return Failure(
      first.kind,
      "\(failures.count) of \(ends.count) boards did not pass; \(name.printable): \(first.message)",
      remedy: first.remedy)
  }
}
