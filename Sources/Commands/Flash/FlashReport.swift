import FirmwareImages
import NotibotHost
import SerialLink

/// The result of `flash`.
struct FlashReport: Sendable {
  /// What became of an image.
  enum PartResult: Equatable, Sendable {
    /// It was there before.
    case present
    /// Written; these of its sectors differed, `nil` if that was not known before.
    case written(bytes: Int, changedSectors: Int?)

    var word: String {
      switch self {
      case .present: "present"
      case .written: "written"
      }
    }
  }

  enum Outcome: String, Sendable {
    /// All images are in the flash, and verified.
    case flashed
    /// The board runs the image already; nothing was read or written.
    case running
    /// `--dry-run`
    case planned
  }

  var outcome = Outcome.planned
  var port: String?
  var chip: String?
  /// The base MAC.
  var board: String?
  var esptoolVersion: String?
  var plan: FlashPlan
  /// In the order of the plan's parts; empty if nothing was written or compared.
  var results: [PartResult] = []
  /// The device after the restart; `nil` if it was not awaited.
  var device: DeviceInfo?
  var match: FirmwareMatch?
  var bootIDBefore: UInt32?
  var seconds = 0.0
  /// The report of the suite, as JSON.
  var test: String?

  /// Lines for a person.
  var text: String {
    var lines = port.map { ["\($0.printable): \(chip ?? "unknown chip") \(board ?? "")"] } ?? []
    for (index, part) in plan.parts.enumerated() {
      let place = "\(part.name.printable) at 0x\(hex(part.offset, digits: 0)), \(part.bytes.count) bytes"
      lines.append(place + (index < results.count ? ": " + Self.words(results[index], part) : ""))
    }
    switch outcome {
    case .planned: lines.append("nothing was written (--dry-run)")
    case .running: lines.append("the board runs it already (build hash); nothing was written")
    case .flashed: lines.append("verified; " + restartWords)
    }
    return lines.joined(separator: "\n")
  }

  private static func words(_ result: PartResult, _ part: FlashPlan.Part) -> String {
    switch result {
    case .present: "already there"
    case .written(let bytes, .some(let changed)) where bytes <= changed * FlashPlan.sectorBytes:
      "\(changed) of \(Int(part.end - UInt64(part.offset)) / FlashPlan.sectorBytes) sectors written"
    case .written: "written"
    }
  }

  private var restartWords: String {
    guard let device else { return "the board was not restarted; " + duration }
    let name = [device.firmwareName, device.firmwareVersion].compactMap { $0?.printable }.joined(
      separator: " ")
    let words =
      switch match {
      case .buildHash?: "the image that was written, by its build hash"
      case .version?: "the version of the image; it reports no build hash"
      case .other(let reason)?, .unknown(let reason)?:
        "whether it is the image that was written is not known: \(reason.printable)"
      case nil: ""
      }
    return "restarted; it runs \(name.isEmpty ? "a firmware without a name" : name): \(words); \(duration)"
  }

  private var duration: String { "\((seconds * 100).rounded() / 100) s" }

  /// One JSON document.
  var document: String {
    var record = JSONRecord()
    record.add("schema", "notibot.flash")
    record.add("version", 1)
    record.add("outcome", outcome.rawValue)
    record.add("port", port)
    record.add("chip", chip)
    record.add("board", board)
    record.add("esptool", esptoolVersion)
    record.add("images", json: "[" + plan.parts.indices.map(image).joined(separator: ",") + "]")
    if let device { record.add("firmware", json: firmware(device)) }
    record.add("bootIDBefore", bootIDBefore.map(ResetReport.hex))
    record.add("bootIDAfter", device.map { ResetReport.hex($0.bootID) })
    record.add("seconds", json: "\((seconds * 1000).rounded() / 1000)")
    if let test { record.add("test", json: test) }
    return record.document()
  }

  private func image(_ index: Int) -> String {
    let part = plan.parts[index]
    var record = JSONRecord()
    record.add("file", part.name)
    record.add("offset", part.offset)
    record.add("bytes", part.bytes.count)
    guard index < results.count else { return record.document() }
    record.add("result", results[index].word)
    if case .written(let bytes, let changed) = results[index] {
      record.add("writtenBytes", bytes)
      if let changed { record.add("changedSectors", changed) }
    }
    return record.document()
  }

  private func firmware(_ device: DeviceInfo) -> String {
    var record = JSONRecord()
    record.add("name", device.firmwareName)
    record.add("version", device.firmwareVersion)
    record.add("buildHash", device.buildHash.map(hashText))
    switch match {
    case .buildHash?: record.add("match", "build-hash")
    case .version?: record.add("match", "version")
    case .other(let reason)?, .unknown(let reason)?:
      record.add("match", "unknown")
      record.add("reason", reason)
    case nil: break
    }
    return record.document()
  }
}
