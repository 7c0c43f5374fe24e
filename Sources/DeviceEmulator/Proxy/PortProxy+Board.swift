import NIOCore
import NotibotProtocol
package import SerialLink

/// Pulling the plug, and restarting the board: what whoever owns the board does, not the line.
extension PortProxy {
  /// Pulls the plug: the terminal is gone until `plug`, the board runs on. Does nothing unless bytes pass.
  package func unplug() async {
    guard case .passing(let board, let terminal) = state else { return }
    dropTerminal(.unplugged(board: board))
    setReading(true, board)
    try? await terminal.close()
  }

  /// Puts the plug in again after `unplug`.
  /// - Throws: `PortError` when the terminal cannot be made; the plug is out then.
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

  /// Closes the board's side, and takes nothing from the host for it until `reopenBoard`: a chip that is in reset hears
  /// nothing. What the board has sent already still reaches the host.
  /// - Throws: `PortError` when the line is broken.
  package func silenceBoard() async throws(PortError) {
    // What waits in the kernel is read within one turn of the loop.
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

  /// Opens the board's side again after `silenceBoard`.
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
