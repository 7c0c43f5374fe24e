import ArgumentParser
import Foundation
import Reports
import SerialLink

/// `notibot report`: what can be made of JSON reports.
struct ReportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report", abstract: "Convert the JSON reports of other commands, and compare them.",
    subcommands: [HTMLCommand.self, CompareCommand.self])

  /// `notibot report html`.
  struct HTMLCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "html", abstract: "Convert a JSON report to one HTML file.",
      discussion: """
        Reads a report of 'test --json', 'soak --json', 'bench --json' or scripts/dev measure, also of several boards. The \
        HTML needs no other file and no JavaScript.
        """)

    @Argument(help: ArgumentHelp("JSON report; - is standard input.", valueName: "report"))
    var report: String

    @Option(
      name: .shortAndLong,
      help: ArgumentHelp("Write the HTML to this file (default: standard output).", valueName: "file"),
      completion: .file())
    var output: String?

    func run() throws {
      let data = try ReportInput.data(report)
      let document: String
      do {
        document = try ReportDocument(parsing: data).html
      } catch {
        throw ReportInput.failure(report, error)
      }
      guard let output else { return Output.text(document) }
      let file = try ReportFile(path: output)
      try file.checkDiffers(fromInputs: [report])
      file.write(document)
    }
  }

  /// `notibot report compare`.
  struct CompareCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "compare", abstract: "Compare two reports, and fail if the new one is worse.",
      discussion: """
        OLD and NEW are JSON reports of the same command, or folders with the reports of repeated runs. A figure has \
        changed if its medians differ by more than 3 standard deviations of the runs (2 if 5 or more on each side do \
        not overlap) and by more than 5 %; with a single run on either side, by more than 20 %. A case is worse if it \
        no longer passes. Exit code 1: something is worse.
        """)

    @Argument(help: ArgumentHelp("Report, or folder of reports, to compare with.", valueName: "old"))
    var old: String

    @Argument(help: ArgumentHelp("Report, or folder of reports, to judge.", valueName: "new"))
    var new: String

    @Option(
      help: ArgumentHelp("Write an HTML report to this file.", valueName: "file"),
      completion: .file())
    var html: String?

    @Option(
      help: ArgumentHelp(
        "Write Markdown for a pull request to this file; - is standard output.", valueName: "file"),
      completion: .file())
    var markdown: String?

    @Option(
      help: ArgumentHelp("Write a JSON report to this file; - is standard output.", valueName: "file"),
      completion: .file())
    var json: String?

    func validate() throws {
      guard json != "-" || markdown != "-" else {
        throw ValidationError("--json and --markdown cannot both be written to standard output")
      }
    }

    func run() throws {
      let files = try (ReportFile.at(html), file(markdown), file(json))
      try files.0?.checkDiffers(from: files.1)
      try files.0?.checkDiffers(from: files.2)
      try files.1?.checkDiffers(from: files.2)
      let inputs = try [old, new].flatMap { try ReportInput.paths($0) }
      for file in [files.0, files.1, files.2] { try file?.checkDiffers(fromInputs: inputs) }
      let (oldRuns, newRuns) = (try ReportInput.runs(old), try ReportInput.runs(new))
      let comparison: Comparison
      do throws(Failure) {
        comparison = try Comparison(old: oldRuns, new: newRuns)
      } catch {
        throw ReportInput.failure("\(old) and \(new)", error, verb: "compare")
      }
      let document = try comparison.json()
      files.0?.write(comparison.html)
      files.1?.write(comparison.markdown())
      files.2?.write(document + "\n")
      if json == "-" {
        Output.json(document: document)
      } else if markdown == "-" {
        Output.text(comparison.markdown())
      } else {
        Output.data(comparison.text)
      }
      if comparison.isRegression { throw Failure(.testFailed, comparison.sentence.printable) }
    }

    private func file(_ path: String?) throws -> ReportFile? {
      try ReportFile.at(path == "-" ? nil : path)
    }
  }
}

/// Reads reports.
enum ReportInput {
  /// The bytes of a file, or of standard input for `-`.
  static func data(_ path: String) throws(Failure) -> Data {
    do {
      let handle = path == "-" ? FileHandle.standardInput : FileHandle(forReadingAtPath: path)
      guard let handle else {
        throw failure(path, String(cString: strerror(errno)), "check the path")
      }
      return try handle.read(upToCount: ReportDocument.limitBytes + 1) ?? Data()
    } catch let failure as Failure {
      throw failure
    } catch {
      throw failure(path, "it cannot be read, or is a folder", "name a file")
    }
  }

  /// A report, or all reports of a folder (regular files whose names end with `.json`).
  static func runs(_ path: String) throws -> RunSet {
    let documents = try paths(path).map { try data($0) }
    do throws(Failure) {
      return try RunSet(documents)
    } catch {
      throw failure(path, error)
    }
  }

  /// The files that `runs` reads.
  static func paths(_ path: String) throws -> [String] {
    var isFolder: ObjCBool = false
    guard path != "-", FileManager.default.fileExists(atPath: path, isDirectory: &isFolder),
      isFolder.boolValue
    else { return [path] }
    var names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: path)
    } catch {
      throw failure(path, errorText(error), "name a folder that you are permitted to read")
    }
    names = names.filter { $0.hasSuffix(".json") && isRegular("\(path)/\($0)") }
    guard !names.isEmpty, names.count <= RunSet.documentsLimit else {
      throw failure(
        path, "it has \(names.count) files *.json, and 1 to \(RunSet.documentsLimit) can be read",
        "put the reports to compare into it, each with --json")
    }
    return names.sorted().map { "\(path)/\($0)" }
  }

  /// Whether it is a file, also behind a symbolic link: opening a FIFO would wait for its writer.
  private static func isRegular(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  static func failure(_ path: String, _ cause: Failure, verb: String = "read") -> Failure {
    failure(path, cause.message, cause.remedy, verb: verb)
  }

  private static func failure(_ path: String, _ reason: String, _ remedy: String, verb: String = "read")
    -> Failure
  {
    Failure(.usage, "cannot \(verb) \(path.printable): \(reason)", remedy: remedy)
  }
}
