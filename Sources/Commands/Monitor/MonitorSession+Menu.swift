import Console
import Foundation
import NotibotHost
import SerialLink
import Synchronization

// The commands behind Ctrl-T.
extension MonitorSession {
  mutating func perform(_ command: MonitorMenu) {
    switch command {
    case .help: MonitorMenu.helpLines.forEach { printNote($0) }
    case .reset: reset(into: .app)
    case .loader: reset(into: .loader)
    case .pause:
      if let hidden = printer.togglePause() {
        printNote("printing again; \(hidden) lines and frames were not shown")
      } else {
        printNote("printing stops; Ctrl-T y goes on")
      }
    case .timestamps: printNote("timestamps \(printer.toggleTimestamps() ? "on" : "off")")
    case .filter: printNote(printer.toggleFilter() ? "only some lines are shown" : "all lines are shown")
    case .log: toggleLog()
    case .rate:
      let rates = RateSearch.candidates
      set(rate: rates[((rates.firstIndex(of: rate) ?? -1) + 1) % rates.count])
      printNote("the rate is \(rate) baud")
    case .flash: printNote("there is nothing to flash: name the images with --flash")
    case .leave: break
    }
  }

  /// - Parameter isRequired: whether a failure ends the monitor.
  mutating func reset(into target: ResetTarget, isRequired: Bool = false) {
    printNote(target == .app ? "resetting the board" : "resetting the board into its loader")
    Task { [monitor, emit] in
      do throws(PortError) {
        try await monitor.reset(into: target)
      } catch {
        // USB inside the chip restarts with it.
        if error.code == .deviceGone { return }
        emit(isRequired ? .resetFailed(Failure(error)) : .note(error.description))
      }
    }
  }

  private mutating func toggleLog() {
    do throws(Failure) {
      let (path, isOpen) = try log.toggle()
      printNote(isOpen ? "writing received bytes to \(path)" : "\(path) is closed")
    } catch {
      printNote(error.description)
    }
  }
}

/// The file that Ctrl-T l begins and ends.
final class MonitorLog: Sendable {
  private let file = Mutex<OutputFile?>(nil)

  /// Closes the file, or begins a new one in the current folder.
  func toggle() throws(Failure) -> (path: String, isOpen: Bool) {
    if let path = file.withLock({ file -> String? in
      defer { file = nil }
      return file?.path
    }) {
      return (path, false)
    }
    let format = DateFormatter()
    format.locale = Locale(identifier: "en_US_POSIX")
    format.dateFormat = "yyyyMMdd-HHmmss"
    let path = "notibot-\(format.string(from: Date())).log"
    let opened = try OutputFile(path: path, from: .end)
    file.withLock { $0 = opened }
    return (path, true)
  }

  /// Returns the first error; nothing is written after it.
  func write(_ bytes: [UInt8]) -> Failure? { file.withLock(\.self)?.write(bytes) }
}
