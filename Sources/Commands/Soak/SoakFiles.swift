import Foundation
import SerialLink
import Synchronization

/// The end of a soak of one board.
struct SoakEnding: Sendable {
  var port: String
  /// The results; `nil` if the soak did not start.
  var report: SoakReport?
  /// Why it did not start, or ended early; `nil` if it was completed.
  var trouble: Failure?
  var startedAt = Date()
}

/// The files that a soak writes on each of its ends, with the soaks of all its boards.
final class SoakFiles: Sendable {
  private let junit: ReportFile?
  private let html: ReportFile?
  /// In the order of the boards; `nil`: has not ended.
  private let endings: Mutex<[(port: String, ending: SoakEnding?)]>

  /// Opens the files.
  ///
  /// - Parameter port: the board, or what the boards match, until `begin` names them.
  init(junit: String?, html: String?, port: String) throws(Failure) {
    self.junit = try ReportFile.at(junit)
    self.html = try ReportFile.at(html)
    try self.html?.checkDiffers(from: self.junit)
    endings = Mutex([(port, nil)])
  }

  /// Several boards begin.
  func begin(_ ports: [String]) { endings.withLock { $0 = ports.map { ($0, nil) } } }

  func record(_ ending: SoakEnding) {
    endings.withLock { endings in
      for index in endings.indices where endings[index].port == ending.port { endings[index].ending = ending }
    }
  }

  /// Writes each file, unless it is already written.
  ///
  /// - Parameter trouble: of the boards that have not ended.
  func write(unended trouble: Failure) {
    let endings = endings.withLock(\.self).map { $0.ending ?? SoakEnding(port: $0.port, trouble: trouble) }
    junit?.write(SoakJUnit.document(of: endings))
    guard let html, let ending = endings.first else { return }
    var shown = ending.report ?? SoakReport(port: ending.port)
    shown.trouble = ending.trouble?.description
    html.write(HTMLReport.document(of: shown))
  }
}
