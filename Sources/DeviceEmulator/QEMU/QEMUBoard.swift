import Foundation
import NIOCore
import NIOPosix
import NotibotProtocol
import SerialLink
import Synchronization

/// Firmware on an emulated CPU, behind a pseudo-terminal that is opened like any serial port.
///
/// QEMU runs in a process of its own, which ends with this one in any case. Its UART is a socket here, and a
/// `PortProxy` stands between that and the terminal: so a plug can be pulled, and a reset loses what a board would lose.
/// A second UART takes the words of `notibot control`.
package actor QEMUBoard {
  /// When the CPU begins to run.
  package enum Start: Sendable {
    /// At once; the firmware answers commands when `start` returns.
    case immediate
    /// When a host has opened the port, so that it sees the first byte.
    case whenOpened
  }

  private enum State {
    case running
    case stopped
  }

  /// The path under which a host opens the port.
  package nonisolated let portPath: String
  /// QEMU's process id, until `stop`.
  package nonisolated var pid: Int32 { process.pid }
  private let directory: PrivateDirectory
  private nonisolated let process: TiedProcess
  private let monitor: QEMUMonitor
  private let control: LineConversation
  private let proxy: PortProxy
  private var state = State.running

  // MARK: Life

  /// Starts QEMU and makes the port.
  ///
  /// - Parameters:
  ///   - link: the path of a symbolic link to the port; a private one without it.
  ///   - faults: what the line does to bytes.
  /// - Throws: `QEMUFailure`, and `PortError` when process, sockets or port cannot be made.
  package static func start(
    _ setup: QEMUSetup, start: Start, link: String? = nil, faults: FaultSpec = .off, seed: UInt64 = 1
  ) async throws -> QEMUBoard {
    let directory = try PrivateDirectory.make(for: "qemu")
    do {
      let board = try await launch(setup, start, link ?? directory.path + "/port", faults, seed, directory)
      if start == .immediate {
        do {
          try await board.run()
        } catch {
          await board.stop()
          throw error
        }
      }
      return board
    } catch {
      directory.remove()
      throw error
    }
  }

  private static func launch(
    _ setup: QEMUSetup, _ start: Start, _ link: String, _ faults: FaultSpec, _ seed: UInt64,
    _ directory: PrivateDirectory
  ) async throws -> QEMUBoard {
    let uart = directory.path + "/uart"
    let (process, monitor, control) = try await spawn(setup, uart: uart)
    do {
      let qemu = QEMUMonitor(conversation: monitor)
      try await qemu.begin()
      let isHeld = Atomic(start == .whenOpened)
      let proxy = try await PortProxy.start(
        board: setup.image, bitsPerSecond: PortSelection.standardBitsPerSecond, link: link, faults: faults,
        seed: seed,
        hostCame: { if isHeld.exchange(false, ordering: .relaxed) { qemu.letRun() } },
        openBoard: { _, loop, initializer throws(PortError) in
          try await UnixSocket.connect(to: uart, on: loop, initializer: initializer)
        })
      do {
        try await qemu.awaitLine(isOpen: true)
      } catch {
        await proxy.stop()
        throw error
      }
      return QEMUBoard(
        portPath: link, directory: directory, process: process, monitor: qemu, control: control, proxy: proxy)
    } catch {
      await process.stop()
      try? await monitor.channel.close()
      try? await control.channel.close()
      guard let failure = error as? QEMUFailure, failure == .ended else { throw error }
      let words = (try? await process.ended.get()) ?? ""
      throw QEMUFailure(
        "QEMU ended at once: \(words.trimmingCharacters(in: .whitespacesAndNewlines).suffix(300))",
        remedy: "see whether \(setup.image) is an ELF file for riscv32")
    }
  }

  /// QEMU with its monitor and its control line, before its CPU runs.
  private static func spawn(
    _ setup: QEMUSetup, uart: String
  ) async throws -> (TiedProcess, monitor: LineConversation, control: LineConversation) {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let made = loop.makePromise(of: LineConversation.self)
    let alsoMade = loop.makePromise(of: LineConversation.self)
    do {
      let (_, (_, process)) = try await UnixSocket.pair(on: loop) { channel in
        made.succeed(try LineConversation(addingTo: channel))
      } _: { monitorEnd throws(PortError) in
        try await UnixSocket.pair(on: loop) { channel in
          alsoMade.succeed(try LineConversation(addingTo: channel))
        } _: { controlEnd throws(PortError) in
          try await TiedProcess.start(
            setup.program, arguments: setup.arguments(uart: uart), descriptors: [monitorEnd, controlEnd])
        }
      }
      return (process, try await made.futureResult.get(), try await alsoMade.futureResult.get())
    } catch {
      made.fail(error)
      alsoMade.fail(error)
      throw error
    }
  }

  private init(
    portPath: String, directory: PrivateDirectory, process: TiedProcess, monitor: QEMUMonitor,
    control: LineConversation,
    proxy: PortProxy
  ) {
    self.portPath = portPath
    self.directory = directory
    self.process = process
    self.monitor = monitor
    self.control = control
    self.proxy = proxy
  }

  /// Ends QEMU and takes the port away. May be called again.
  package func stop() async {
    guard case .running = state else { return }
    state = .stopped
    await proxy.stop()
    await process.stop()
    try? await monitor.conversation.channel.close()
    try? await control.channel.close()
    directory.remove()
  }

  /// Bytes that were read from the host and are under way to the board, or there.
  package var takenBytes: UInt64 {
    get async { await proxy.takenBytes }
  }

  // MARK: What is done to the board

  /// Pulls the reset pin. What was under way to the board is lost; the port stays. Returns when the firmware runs again.
  package func reset() async throws {
    try await monitor.execute("stop")
    try await proxy.silenceBoard()
    try await monitor.awaitLine(isOpen: false)
    try await monitor.execute("system_reset", event: "RESET")
    try await proxy.reopenBoard()
    try await monitor.awaitLine(isOpen: true)
    try await run()
  }

  /// The port goes, the board runs on.
  package func unplug() async { await proxy.unplug() }

  /// The port is back under its path.
  package func plug() async throws { try await proxy.plug() }

  /// Gives the firmware's control line a line, and returns its answer: `ok`, or `refused: ` and why.
  package func perform(_ line: String) async throws(QEMUFailure) -> String {
    try await control.ask(line, wanted: [{ $0 == "ok" || $0.hasPrefix("ok ") || $0.hasPrefix("refused: ") }])
  }

  /// Lets the CPU run, and waits until the firmware says that it does.
  private func run() async throws(QEMUFailure) {
    async let isUp = control.ask(nil, wanted: [{ $0.hasPrefix("ready") }])
    try await monitor.execute("cont")
    do {
      _ = try await isUp
    } catch {
      throw (error as? QEMUFailure) ?? .ended
    }
  }
}
