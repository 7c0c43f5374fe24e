import Conformance
import Foundation
import SerialLink

/// Where the results of `notibot test` go: lines, files, and what GitHub shows.
struct TestReports: Sendable {
  /// Of a GitHub workflow, what concerns a report.
  struct GitHub: Sendable {
    /// The file that the summary of the step is appended to.
    var summaryPath: String?

    /// Nil outside of a workflow.
    init?(environment: [String: String]) {
      guard environment["GITHUB_ACTIONS"] == "true" else { return nil }
      summaryPath = environment["GITHUB_STEP_SUMMARY"].flatMap { $0.isEmpty ? nil : $0 }
    }
  }

  var junit: String?
  /// `-` is stdout.
  var json: String?
  let gitHub = GitHub(environment: ProcessInfo.processInfo.environment)

  /// A line for a person: to stdout, unless the JSON goes there.
  func printLine(_ line: String) {
    printRaw(gitHub == nil ? line : GitHubReport.harmless(line))
  }

  /// A line that may be a command to the workflow's runner.
  func printRaw(_ line: String) {
    json == "-" ? Output.note(line) : Output.data(line)
  }

  /// Begins the group of a board's lines in a workflow's log; nothing elsewhere.
  func startGroup(_ name: String) {
    if gitHub != nil { printRaw(GitHubReport.groupStart(name.printable)) }
  }

  func endGroup() {
    if gitHub != nil { printRaw(GitHubReport.groupEnd) }
  }

  /// Writes what one run came to. The files are written on every way out, also when there was no rig.
  func write(_ report: Report) throws {
    if let junit { try write(JUnitReport.document(of: report), to: junit) }
    try writeJSON { try JSONReport(report).document() }
    try tellGitHub([report])
  }

  /// The same of several boards, in one document each.
  func write(_ reports: [Report]) throws {
    if let junit { try write(JUnitReport.document(of: reports), to: junit) }
    try writeJSON { try BoardsJSONReport(reports).document() }
    try tellGitHub(reports)
  }

  private func writeJSON(_ document: () throws -> String) throws {
    guard let json else { return }
    let document = try document()
    json == "-" ? Output.json(document: String(document.dropLast())) : try write(document, to: json)
  }

  private func tellGitHub(_ reports: [Report]) throws {
    guard let gitHub else { return }
    GitHubReport.annotations(of: reports).forEach(printRaw)
    guard let path = gitHub.summaryPath else { return }
    let file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o666)
    guard file >= 0 else { throw failure(path, String(cString: strerror(errno))) }
    let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
    do {
      // What other commands of this step have written counts as well.
      let room = GitHubReport.summaryLimitBytes - Int(try handle.seekToEnd())
      try handle.write(contentsOf: Data(GitHubReport.summary(of: reports, limitBytes: max(0, room)).utf8))
    } catch {
      throw failure(path, error.localizedDescription)
    }
  }

  private func write(_ document: String, to path: String) throws {
    do {
      try Data(document.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    } catch {
      throw failure(path, error.localizedDescription)
    }
  }

  private func failure(_ path: String, _ reason: String) -> CommandFailure {
    CommandFailure(
      .unfitEnvironment, "cannot write \(path.printable): \(reason)",
      remedy: "choose a place that can be written")
  }
}
