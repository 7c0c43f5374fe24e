import FirmwareImages
import Foundation
import NIOPosix
import NotibotHost
import SerialLink

/// One flashing of one board: query, identification, write, verification, restart, query.
struct FlashRun: Sendable {
  private static let reopeningInterval = Duration.milliseconds(250)

  let plan: FlashPlan
  let name: PortName
  /// In bits per second.
  let rate: UInt32
  let esptool: EsptoolProgram
  /// The base MAC that the board must have, in upper case with colons.
  let expectedID: String?
  let before: LineReset.Before
  let after: LineReset.After
  /// Writes what the board runs already, too.
  let isForced: Bool
  /// Time limit for the firmware that is there to answer.
  let greetingLimit: Duration
  /// Time limit for the firmware to answer after the restart.
  let timeout: Duration
  var ports = PortList()
  var memory = FlashMemory()

  /// Flashes, and calls `body` while the port is still locked for this process.
  /// - Throws: `Failure`, `PortError`, the error of `body`.
  func perform<Result: Sendable>(
    _ body: (FlashReport, PortAddress) async throws -> Result
  ) async throws -> Result {
    let port = try ports.address(of: name)
    let reservation = try port.path.map { path throws(PortError) in try PortReservation(path) }
    if reservation?.isEffective == false {
      Output.note(
        "warning: \(port.description.printable) has no lock file: no other program must open it meanwhile")
    }
    let report = try await flash(port)
    let result = try await body(report.report, report.port)
    withExtendedLifetime(reservation) {}
    return result
  }

  private func flash(_ port: PortAddress) async throws -> (report: FlashReport, port: PortAddress) {
    let start = ContinuousClock.now
    var report = FlashReport(port: port.description, chip: plan.chip?.name, plan: plan)
    let greeting = before == .noReset ? nil : try await greet(port, within: greetingLimit)
    report.bootIDBefore = greeting?.bootID
    report.board = greeting?.info.deviceID
    try refuseOther(greeting?.info.deviceID, at: port)
    if !isForced, plan.isAppOnly, let info = greeting?.info,
      FirmwareMatch(version: info.firmwareVersion, buildHash: info.buildHash, image: plan.app) == .buildHash
    {
      (report.outcome, report.device, report.match) = (.running, info, .buildHash)
      report.seconds = (ContinuousClock.now - start).inSeconds
      return (report, port)
    }
    if expectedID != nil || (report.board == nil && !memory.isEmpty) || !hasRoom(report.board) {
      let found = try await identify(port)
      report.board = found.mac ?? report.board
      try refuseOther(found.mac, at: port)
      try checkRoom(found.flashBytes, port)
      if let mac = found.mac, let bytes = found.flashBytes { memory.remember(mac, flashBytes: bytes) }
    }
    try await write(port, &report)
    report.outcome = .flashed
    var place = port
    if after == .hardReset {
      if before == .noReset { try await leaveLoader(port) }
      place = try await awaitFirmware(port, &report)
    }
    report.seconds = (ContinuousClock.now - start).inSeconds
    return (report, place)
  }

  private func refuseOther(_ id: String?, at port: PortAddress) throws {
    guard let expectedID, let id, id.uppercased() != expectedID else { return }
    throw Failure(
      .noBoard,
      "the board at \(port.description.printable) is \(id.printable), not \(expectedID); nothing was written",
      remedy: "choose its port with --port")
  }

  // MARK: esptool

  private func words(_ port: PortAddress, rate: UInt32) -> [String] {
    let path = port.path.map { URL(fileURLWithPath: $0).resolvingSymlinksInPath().path }
    return (plan.chip.map { ["--chip", $0.name] } ?? [])
      + ["--port", path ?? port.description, "--baud", "\(rate)", "--before", before.rawValue]
  }

  /// Asks the loader which board it is, and how large its flash is, before anything is written:
  /// esptool prints its own warning when it can have begun to write.
  private func identify(_ port: PortAddress) async throws -> (mac: String?, flashBytes: Int?) {
    // Without the stub and at the ROM's rate, a loader that is not reset stays as it was.
    let after: LineReset.After = before == .noReset ? .noReset : .hardReset
    let run = try await EsptoolRun(program: esptool).run(
      words(port, rate: 115_200) + ["--no-stub", "--after", after.rawValue, "flash-id"])
    guard run.exitCode == 0, run.output.mac != nil || expectedID == nil else { throw failure(of: run, port) }
    return (run.output.mac, run.output.detectedFlashBytes)
  }

  /// Whether the flash of a board is known to be large enough, or that is not asked.
  private func hasRoom(_ mac: String?) -> Bool {
    guard !isForced, let needed = plan.neededFlashBytes else { return true }
    return mac.flatMap(memory.flashBytes) ?? 0 >= needed
  }

  private func checkRoom(_ flashBytes: Int?, _ port: PortAddress) throws {
    guard !isForced, let needed = plan.neededFlashBytes, let flashBytes, flashBytes < needed else { return }
    let size = "\(flashBytes >> 20) MB"
    throw Failure(
      .usage,
      "the images need a flash of \((needed + (1 << 20) - 1) >> 20) MB, that of "
        + "\(port.description.printable) has \(size): the board would not boot; nothing was written",
      remedy: "build them for \(size), or write them nevertheless with --force")
  }

  private func write(_ port: PortAddress, _ report: inout FlashReport) async throws {
    let folder = try TemporaryFolder("notibot-flash")
    defer { folder.remove() }
    let old = report.board.map { memory.files(of: $0, plan) } ?? []
    let changed = try await changedSectors(old)
    var words = words(port, rate: rate) + ["--after", after.rawValue, "write-flash"]
    if old.allSatisfy({ $0 == nil }) { words.append("--skip-flashed") }
    if plan.adaptsToFlash { words += ["--flash-size", "detect"] }
    if isForced { words.append("--force") }
    // What was checked is what is written, even if a file changes meanwhile.
    for part in plan.parts {
      let offset = "0x\(hex(part.offset, digits: 0))"
      let copy = folder.file(offset + ".bin")
      try WholeFile.write(part.bytes, to: copy)
      words += [offset, copy]
    }
    if old.contains(where: { $0 != nil }) { words += ["--diff-with"] + old.map { $0 ?? "skip" } }
    let run = try await drive(words, report.board)
    try judge(run, port, &report)
    report.results = zip(run.output.parts, changed).map { part, changed in
      switch part {
      case .present: .present
      case .written(let bytes): .written(bytes: bytes, changedSectors: changed)
      }
    }
    if let board = report.board { memory.remember(board, plan) }
  }

  /// How many sectors of each part differ from what was written last; `nil` if that is not known.
  private func changedSectors(_ old: [String?]) async throws -> [Int?] {
    var counts = [Int?](repeating: nil, count: plan.parts.count)
    for (index, path) in old.enumerated() {
      guard let path, let bytes = try? await FirmwareFile.read(path) else { continue }
      counts[index] = plan.parts[index].changedSectors(from: bytes).count
    }
    return counts
  }

  /// Runs esptool with one bar for all images.
  private func drive(_ words: [String], _ board: String?) async throws -> EsptoolRun.Ending {
    var bar = Progress("flash", total: plan.lengthBytes, unit: "bytes")
    var hasForgotten = false
    do {
      return try await EsptoolRun(program: esptool).run(words) { output in
        // A loader of another board than the one whose flash is known.
        if let mac = output.mac, let wanted = expectedID ?? board, mac != wanted.uppercased(),
          !output.hasBegunWriting
        {
          return false
        }
        if output.hasBegunWriting, !hasForgotten, let mac = output.mac {
          hasForgotten = true
          memory.forget(mac, plan)
        }
        bar.update(Self.doneBytes(of: plan, output))
        return true
      }
    } catch {
      if hasForgotten { Output.note("the flash is incomplete: run the command again") }
      throw error
    }
  }

  private static func doneBytes(of plan: FlashPlan, _ output: EsptoolOutput) -> Int {
    let done = plan.parts.prefix(output.parts.count).reduce(0) { $0 + $1.bytes.count }
    guard output.parts.count < plan.parts.count else { return done }
    // A part is done when it is verified.
    return done + plan.parts[output.parts.count].bytes.count * min(output.percent, 99) / 100
  }

  private func judge(_ run: EsptoolRun.Ending, _ port: PortAddress, _ report: inout FlashReport) throws {
    report.esptoolVersion = run.output.version
    report.chip = run.output.chip.map { ESPChip.named($0)?.name ?? $0 } ?? report.chip
    if !run.output.hasBegunWriting, run.exitCode != 0 {
      try refuseOther(run.output.mac, at: port)
      if let mac = run.output.mac, let known = report.board, mac != known.uppercased() {
        throw Failure(
          .noBoard,
          "the loader at \(port.description.printable) is \(mac), its firmware was \(known.printable); nothing was written",
          remedy: "choose the board with --expect-id")
      }
    }
    report.board = run.output.mac ?? report.board
    for note in run.output.revisionNotes { Output.note("warning: \(named(note).printable)") }
    guard run.exitCode == 0 else { throw failure(of: run, port) }
    guard run.output.parts.count == plan.parts.count else {
      throw Failure(
        .flashingFailed,
        "\(port.description.printable): esptool verified \(run.output.parts.count) of \(plan.parts.count) images",
        remedy: "run the command again; encrypted flashes and secure download mode cannot be verified")
    }
  }

  /// A reason with the names of the files that the user gave.
  private func named(_ reason: String) -> String {
    plan.parts.reduce(reason) { reason, part in
      let copy = "/0x\(hex(part.offset, digits: 0)).bin"
      guard let end = reason.firstRange(of: copy),
        let start = reason[..<end.lowerBound].lastIndex(where: { $0 == "'" || $0 == " " })
      else { return reason }
      return reason[...start] + part.name + reason[end.upperBound...]
    }
  }

  private func failure(of run: EsptoolRun.Ending, _ port: PortAddress) -> Failure {
    let place = port.description.printable
    let state = run.output.hasBegunWriting ? "the flash is incomplete" : "nothing was written"
    let reason = named(EsptoolFailure.reason(in: run.errors)).printable
    if run.wasSilent || run.exitCode == nil {
      let cause = run.wasSilent ? "esptool stopped responding and was ended" : "esptool was killed"
      return Failure(.flashingFailed, "\(place): \(cause); \(state)", remedy: "run the command again")
    }
    let isGone = port.path.map { access($0, F_OK) != 0 } ?? false
    switch isGone ? .lost : EsptoolFailure(error: run.errors, hasBegunWriting: run.output.hasBegunWriting) {
    case .wrongChip(let board):
      return Failure(
        .usage,
        "the images are for \(plan.chip?.name ?? "another chip"), the chip at \(place) is \(board.printable); \(state)",
        remedy: "build them for that chip, or choose another board with --port")
    case .tooLarge:
      return Failure(
        .usage, "the images do not fit in the flash at \(place): \(reason); \(state)",
        remedy: "build smaller ones, or check their offsets")
    case .wrongRevision:
      return Failure(
        .usage, "the images are for other revisions of the chip at \(place): \(reason); \(state)",
        remedy: "build them for its revision, or write them nevertheless with --force")
    case .portBusy:
      let holder = port.path.flatMap { PortHolder.user(of: $0) }
      return Failure(PortError(.busy(holder), port: port.description, operation: "open"))
    case .noAnswer:
      return Failure(
        .noAnswer, "the loader at \(place) does not answer: \(reason); \(state)",
        remedy: "hold the board's BOOT button while the command begins, and check the cable")
    case .lost:
      return Failure(
        .linkLost, "\(place): the connection was lost while flashing; \(state)",
        remedy: "check the cable and the power supply, then run the command again")
    case .other:
      return Failure(
        .flashingFailed, "\(place): \(reason); \(state)",
        remedy: "run the command again, or try a lower --baud")
    }
  }

  // MARK: The firmware

  /// esptool resets by RTS, which has no effect while DTR is asserted as well; without a reset at
  /// its beginning DTR is as the driver leaves it when the port is opened.
  private func leaveLoader(_ port: PortAddress) async throws {
    let run = ResetRun(
      name: .address(port), rate: rate, target: .app, way: .none, after: after, timeout: timeout, ports: ports
    )
    do {
      _ = try await run.leaveLoader(port, ResetStrategy.Wiring(port, ports.info(at: port)))
    } catch let error as PortError {
      // Whether the board runs is asked next: it can have no lines, and USB inside the chip
      // restarts with it.
      if ![.usage, .linkLost, .noBoard].contains(error.kind) { Output.note("\(error)") }
    }
  }

  private func greet(_ port: PortAddress, within limit: Duration) async throws -> ResetRun.Greeting? {
    try await BoardGreeting.ask(.address(port), bitsPerSecond: rate, within: limit)
  }

  /// Waits for the firmware, and compares it with the image. Returns the port, which can have
  /// another name if USB is inside the chip.
  private func awaitFirmware(_ port: PortAddress, _ report: inout FlashReport) async throws -> PortAddress {
    let (device, place) = try await awaitAnswer(port)
    report.device = device
    let match = FirmwareMatch(version: device.firmwareVersion, buildHash: device.buildHash, image: plan.app)
    report.match = match
    if case .other(let reason) = match {
      throw Failure(
        .flashingFailed,
        "\(port.description.printable): verified, but another firmware answers: \(reason.printable)",
        remedy: "another OTA slot is selected: flash the whole build, with its otadata")
    }
    return place
  }

  private func awaitAnswer(_ port: PortAddress) async throws -> (DeviceInfo, PortAddress) {
    let usb = ports.info(at: port)?.usb
    let end = ContinuousClock.now + timeout
    while true {
      let back = usb.flatMap { ports.port(at: $0.location, interface: $0.interface)?.address }
      let place = back ?? port
      let left = end - .now
      do {
        let greeting = try await BoardGreeting.answer(.address(place), bitsPerSecond: rate, within: left)
        return (greeting.info, place)
      } catch let error as NotibotError
        where [.linkLost, .noBoard, .noPermission].contains(error.code) && left > .zero
      {
        _ = try await PortWait.until(
          upTo: Self.reopeningInterval, on: MultiThreadedEventLoopGroup.singleton.next()
        ) { false }
      } catch let error as NotibotError where [.noAnswer, .deviceRestarted].contains(error.code) {
        throw Failure(
          error.kind,
          "\(port.description.printable): the images are verified, but no Notibot answers after the restart: "
            + error.reason,
          remedy: "read its console with: notibot monitor; or increase --timeout")
      }
    }
  }
}
