import Conformance
import Foundation
import SerialLink

/// The outputs of `notibot test`: lines, files, and GitHub's annotations and summary.
struct TestReports: Sendable {
  /// The environment of a GitHub workflow.
  struct GitHub: Sendable {
    /// The file that the summary of the step is appended to.
    var summaryPath: String?

    /// `nil` outside of a workflow.
    init?(environment: [String: String]) {
      guard environment["GITHUB_ACTIONS"] == "true" else { return nil }
      summaryPath = environment["GITHUB_STEP_SUMMARY"].flatMap { $0.isEmpty ? nil : $0 }
    }
  }

  private let junit: ReportFile?
  private let json: ReportFile?
  private let html: ReportFile?
  private let isJSONOnStdout: Bool
  private(set) var gitHub = GitHub(environment: ProcessInfo.processInfo.environment)

  /// Opens the files. `json` can be `-` for stdout.
  ///
  /// - Throws: `Failure` when a report could not be written.
  init(junit: String?, json: String?, html: String?) throws(Failure) {
    isJSONOnStdout = json == "-"
    self.junit = try ReportFile.at(junit)
    self.json = try ReportFile.at(isJSONOnStdout ? nil : json)
    self.html = try ReportFile.at(html)
    try self.json?.checkDiffers(from: self.junit)
    try self.html?.checkDiffers(from: self.junit)
    try self.html?.checkDiffers(from: self.json)
    if let path = gitHub?.summaryPath,
      [self.junit, self.json, self.html].contains(where: { $0?.isAt(path) == true })
    {
      gitHub?.summaryPath = nil
      Output.note("the summary of the step is left out: \(path.printable) is the file of a report")
    }
  }

  /// Prints a line of text to stdout, unless the JSON goes there.
  func printLine(_ line: String) {
    isJSONOnStdout ? Output.note(line) : Output.data(line)
  }

  /// Prints a line that can be a command to the workflow's runner.
  func printRaw(_ line: String) {
    isJSONOnStdout ? Output.noteCommands(line) : Output.commands(line)
  }

  /// Begins the group of a board's lines in a workflow's log; nothing elsewhere.
  func startGroup(_ name: String) {
    if gitHub != nil { printRaw(GitHubReport.groupStart(name.printable)) }
  }

  func endGroup() {
    if gitHub != nil { printRaw(GitHubReport.groupEnd) }
  }

  /// Writes the result of one run. The files are always written, even if the rig failed.
  func write(_ report: Report) throws {
    writeFiles(report)
    if isJSONOnStdout { printJSON(try JSONReport(report).document()) }
    notifyGitHub([report])
  }

  /// The same for several boards, or for the two bearers of one, in one document per file.
  func write(_ reports: [Report], comparison: BearerComparison? = nil) throws {
    writeFiles(reports, comparison: comparison)
    if isJSONOnStdout { printJSON(try BoardsJSONReport(reports, comparison: comparison).document()) }
    notifyGitHub(reports)
  }

  /// Writes only the files, unless they are already written.
  func writeFiles(_ report: Report) {
    junit?.write(JUnitReport.document(of: report))
    guard json != nil || html != nil else { return }
    let document = document { try JSONReport(report).document() }
    json?.write(document)
    html?.write(HTMLReport.document(of: document))
  }

  /// The same for several boards.
  func writeFiles(_ reports: [Report], comparison: BearerComparison? = nil) {
    junit?.write(JUnitReport.document(of: reports, comparison: comparison))
    guard json != nil || html != nil else { return }
    let document = document { try BoardsJSONReport(reports, comparison: comparison).document() }
    json?.write(document)
    html?.write(HTMLReport.document(of: document))
  }

  private func document(_ make: () throws -> String) -> String {
    do {
      return try make()
    } catch {
      // Encoding fails only on NaN and infinity, and a report has neither: no peer and no user can
      // cause it.
      preconditionFailure("a report can always be encoded as JSON: \(error)")
    }
  }

  private func printJSON(_ document: String) {
    Output.json(document: String(document.dropLast()))
  }

  private func notifyGitHub(_ reports: [Report]) {
    guard let gitHub else { return }
    GitHubReport.annotations(of: reports).forEach(printRaw)
    guard let path = gitHub.summaryPath else { return }
    do throws(Failure) {
      let file = try OutputFile(path: path, from: .end)
      // Includes the summaries of other commands of this step.
      let room = max(0, GitHubReport.summaryLimitBytes - file.sizeBytes)
      let summary = Array(GitHubReport.summary(of: reports, limitBytes: room).utf8)
      guard !summary.isEmpty else {
        return Output.note(
          "the summary of the step is left out: \(path.printable) is near the 1 MiB that GitHub accepts")
      }
      if let failure = file.write(summary, stallLimitMs: OutputFile.stallLimitMs) { throw failure }
    } catch {
      // A failed summary does not change the verdict of the run.
      Output.note("notibot: \(error)")
    }
  }
}
