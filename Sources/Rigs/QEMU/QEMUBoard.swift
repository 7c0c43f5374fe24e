package import DeviceEmulator
import Foundation
import NIOCore
import NIOPosix
import NotibotProtocol
package import SerialLink
import Synchronization

/// Firmware on an emulated CPU, behind a pseudo-terminal that is opened like any serial port.
///
/// QEMU runs in a child process, which always ends with this one. Its UART is a socket, and a
/// `PortProxy` sits between the socket and the terminal: so a plug can be pulled, and a reset loses
/// the same bytes as on a board. A second UART takes the commands of `notibot control`.
package actor QEMUBoard {
  /// When the CPU starts.
  package enum Start: Sendable {
    /// At once; the firmware answers commands when `start` returns.
    case immediate
    /// When a host has opened the port, so that it receives the first byte.
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

  /// Starts QEMU and creates the port.
  ///
  /// - Parameters:
  ///   - link: the path of a symbolic link to the port; default: a private one.
  ///   - faults: the faults of the line.
  /// - Throws: `Failure`, or `PortError` if the process, the sockets or the port cannot be
  ///   created.
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
        hostOpened: { if isHeld.exchange(false, ordering: .relaxed) { qemu.letRun() } },
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
      guard let failure = error as? Failure, failure == .qemuEnded else { throw error }
      let words = (try? await process.ended.get()) ?? ""
      throw Failure(
        qemu: "QEMU ended at once: \(words.trimmingCharacters(in: .whitespacesAndNewlines).suffix(300))",
        remedy: "check that \(setup.image) is an ELF file for riscv32")
    }
  }

  /// QEMU with its monitor and its control line, before its CPU runs.
  private static func spawn(
    _ setup: QEMUSetup, uart: String
  ) async throws -> (TiedProcess, monitor: LineConversation, control: LineConversation) {
    let (monitor, (control, process)) = try await LineConversation.pair { monitorEnd throws(PortError) in
      try await LineConversation.pair(silence: .silentFirmware) { controlEnd throws(PortError) in
        try await TiedProcess.start(
          setup.program, arguments: setup.arguments(uart: uart), descriptors: [monitorEnd, controlEnd])
      }
    }
    return (process, monitor, control)
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

  /// Ends QEMU and removes the port. Can be called more than once.
  package func stop() async {
    guard case .running = state else { return }
    state = .stopped
    await proxy.stop()
    await process.stop()
    try? await monitor.conversation.channel.close()
    try? await control.channel.close()
    directory.remove()
  }

  /// Bytes that were read from the host and have reached the board, or are on the way.
  package var takenBytes: UInt64 {
    get async { await proxy.takenBytes }
  }

  // MARK: Actions on the board

  /// Asserts the reset pin. Bytes on their way to the board are lost; the port stays. Returns when
  /// the firmware runs again. A reset of QEMU alone would deliver bytes that were sent before it.
  package func reset() async throws {
    try await monitor.execute("stop")
    try await proxy.silenceBoard()
    try await monitor.awaitLine(isOpen: false)
    try await monitor.execute("system_reset", event: "RESET")
    try await proxy.reopenBoard()
    try await monitor.awaitLine(isOpen: true)
    try await run()
  }

  /// The port disappears, the board keeps running.
  package func unplug() async { await proxy.unplug() }

  /// The port is back under its path.
  package func plug() async throws { try await proxy.plug() }

  /// Sends a line to the firmware's control line, and returns its answer: `ok`, or `refused: ` and
  /// the reason.
  package func perform(_ line: String) async throws(Failure) -> String {
    try await control.ask(line, wanted: [{ $0 == "ok" || $0.hasPrefix("ok ") || $0.hasPrefix("refused: ") }])
  }

  /// Starts the CPU, and waits until the firmware reports that it runs.
  private func run() async throws(Failure) {
    async let isUp = control.ask(nil, wanted: [{ $0.hasPrefix("ready") }])
    try await monitor.execute("cont")
    do {
      _ = try await isUp
    } catch {
      throw (error as? Failure) ?? .qemuEnded
    }
  }
}
