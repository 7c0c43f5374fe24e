import DeviceEmulator
import NIOCore
import NotibotProtocol
package import SerialLink

/// Pulling the plug, and restarting the board: actions of the board's owner, not of the line.
extension PortProxy {
  /// Pulls the plug: the terminal is gone until `plug`, the board keeps running. Does nothing
  /// unless bytes pass.
  package func unplug() async {
    guard case .passing(let board, let terminal) = state else { return }
    dropTerminal(.unplugged(board: board))
    setReading(true, board)
    try? await terminal.close()
  }

  /// Reinserts the plug after `unplug`.
  /// - Throws: `PortError` if the terminal cannot be created; the plug stays out then.
  package func plug() async throws(PortError) {
    guard case .unplugged(let board) = state else { return }
    state = .broken(board: board)
    do throws(PortError) {
      try await connect()
    } catch {
      if case .broken(let board) = state { state = .unplugged(board: board) }
      throw error
    }
  }

  /// Closes the board's side, and discards the host's bytes for it until `reopenBoard`: a chip that
  /// is in reset receives nothing. Bytes that the board has already sent still reach the host.
  /// - Throws: `PortError` if the line is broken.
  package func silenceBoard() async throws(PortError) {
    // Bytes queued in the kernel are read within one turn of the loop.
    try? await loop.submit {}.get()
    switch state {
    case .passing(let board, let terminal):
      state = .restarting(terminal: terminal)
      wire.discard(.toDevice)
      try? await board.close()
    case .unplugged(let board):
      state = .unplugged(board: nil)
      try? await board?.close()
    case .broken, .restarting, .stopped:
      throw PortError(.deviceGone, port: name, operation: "restart")
    }
  }

  /// Reopens the board's side after `silenceBoard`.
  package func reopenBoard() async throws(PortError) {
    let board = try await openedBoard()
    switch state {
    case .restarting(let terminal): state = .passing(board: board, terminal: terminal)
    case .unplugged(nil): state = .unplugged(board: board)
    case .unplugged, .passing, .broken, .stopped:
      try? await board.close()
      throw PortError(.deviceGone, port: name, operation: "restart")
    }
    drain()
  }
}
