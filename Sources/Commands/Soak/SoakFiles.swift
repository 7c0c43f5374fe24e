import Foundation
import SerialLink

/// The files that a soak writes on each of its ends.
struct SoakFiles: Sendable {
  private let junit: ReportFile?
  private let html: ReportFile?

  /// Opens the files.
  init(junit: String?, html: String?) throws(Failure) {
    self.junit = try ReportFile.at(junit)
    self.html = try ReportFile.at(html)
    try self.html?.checkDiffers(from: self.junit)
  }

  /// Writes each file, unless it is already written.
  ///
  /// - Parameters:
  ///   - report: the results; `nil` if the soak did not start.
  ///   - trouble: why it did not start, or ended early; `nil` if it was completed.
  ///   - isDeviceWrong: whether the trouble is a fault of the device.
  func write(
    _ report: SoakReport?, port: String, trouble: String?, isDeviceWrong: Bool, startedAt: Date
  ) {
    junit?.write(
      SoakJUnit.document(
        of: report, port: port, trouble: trouble, isDeviceWrong: isDeviceWrong, startedAt: startedAt))
    guard let html else { return }
    var shown = report ?? SoakReport(port: port)
    shown.trouble = trouble
    html.write(HTMLReport.document(of: shown))
  }
}
