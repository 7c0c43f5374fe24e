import Dispatch
import Foundation
import SerialLink
import Synchronization

/// Keys from the terminal on standard input, and the shell's job control. The terminal settings are
/// restored whenever this process is stopped, in the background, or ended.
///
/// All events are handled on one queue: keys, SIGTSTP, SIGCONT, the end.
final class MonitorKeys: Sendable {
  typealias Event = MonitorKeyParser.Event

  private static let readSizeBytes = 1024

  private struct State {
    var isReading = false
    var isOver = false
    var parser = MonitorKeyParser()
  }

  private let queue = DispatchQueue(label: "notibot.keys")
  // Safe: the methods of libdispatch objects can be called on any thread, and these are created
  // once.
  nonisolated(unsafe) private let input: any DispatchSourceRead
  nonisolated(unsafe) private let stops: any DispatchSourceSignal
  nonisolated(unsafe) private let continues: any DispatchSourceSignal
  private let state = Mutex(State())
  private let report: @Sendable (Event) -> Void

  /// Takes control of the terminal, if this process is in its foreground.
  /// - Parameter report: called on a queue of this value.
  init(report: @escaping @Sendable (Event) -> Void) {
    self.report = report
    // A background job must be able to restore the terminal, and must not be stopped by reading its
    // settings.
    [SIGTSTP, SIGTTOU, SIGTTIN].forEach { signal($0, SIG_IGN) }
    input = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: queue)
    stops = DispatchSource.makeSignalSource(signal: SIGTSTP, queue: queue)
    continues = DispatchSource.makeSignalSource(signal: SIGCONT, queue: queue)
    input.setEventHandler { [weak self] in self?.read() }
    stops.setEventHandler { [weak self] in self?.stop() }
    continues.setEventHandler { [weak self] in self?.resume() }
    // Until a source is registered its signal is ignored: a Ctrl-Z in the first moments would be
    // lost.
    let registered = DispatchGroup()
    for source in [stops, continues] {
      registered.enter()
      source.setRegistrationHandler { registered.leave() }
      source.activate()
    }
    registered.wait()
    queue.sync { resume() }
  }

  /// Restores the terminal. After it returns, no key is reported.
  func end() {
    queue.sync {
      pause()
      let wasOver = state.withLock { state in
        defer { state.isOver = true }
        return state.isOver
      }
      if wasOver { return }
      [stops, continues].forEach { $0.cancel() }
      input.cancel()
      // A source that is suspended or never ran must be resumed before it is released.
      input.resume()
    }
    [SIGTSTP, SIGTTOU, SIGTTIN].forEach { signal($0, SIG_DFL) }
  }

  // MARK: On the queue

  private func read() {
    guard KeyTerminal.isOurs else { return pause() }
    var bytes = [UInt8](repeating: 0, count: Self.readSizeBytes)
    let count = Foundation.read(STDIN_FILENO, &bytes, bytes.count)
    guard count > 0 else {
      // The terminal is gone, or this process is in the background: the device is still monitored.
      if count == 0 || (errno != EINTR && errno != EAGAIN) { pause() }
      return
    }
    state.withLock { $0.parser.parse(bytes.prefix(count)) }.forEach(report)
  }

  /// The shell wants this process to stop.
  private func stop() {
    pause()
    kill(getpid(), SIGSTOP)
  }

  private func resume() {
    let mayRead = state.withLock { !$0.isReading && !$0.isOver }
    guard mayRead, KeyTerminal.enter() else { return }
    state.withLock { $0.isReading = true }
    input.resume()
  }

  private func pause() {
    let wasReading = state.withLock { state in
      defer { state.isReading = false }
      return state.isReading
    }
    if wasReading { input.suspend() }
    KeyTerminal.leave()
  }
}
