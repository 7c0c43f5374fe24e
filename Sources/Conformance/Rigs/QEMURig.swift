import DeviceEmulator
import SerialLink

/// The reference firmware on an emulated CPU, in real time, on a pseudo-terminal that is opened like any serial port.
package final class QEMURig: Rig {
  package let name = "qemu"
  private let board: QEMUBoard
  private let port: PortRig

  /// Starts the firmware and opens its port.
  ///
  /// - Parameter image: an ELF; nil for the one that was built.
  /// - Throws: `RigTrouble` when QEMU or the firmware is missing or does not start, else as `PortRig.open`.
  package static func start(
    image: String? = nil, seed: UInt64 = 1, wrapLine: @escaping (any Line) -> any Line = { $0 }
  ) async throws -> QEMURig {
    let board: QEMUBoard
    do {
      board = try await QEMUBoard.start(try QEMUSetup(image: image), start: .immediate, seed: seed)
    } catch let error as QEMUFailure {
      throw RigTrouble(error.message, remedy: error.remedy)
    }
    do {
      let port = try await PortRig.open(
        .path(board.portPath), name: "qemu", offersHost: true, wrapLine: wrapLine
      ) { _ in BoardControl(board: board) }
      return QEMURig(board: board, port: port)
    } catch {
      await board.stop()
      throw error
    }
  }

  private init(board: QEMUBoard, port: PortRig) {
    self.board = board
    self.port = port
  }

  package var offers: Set<Need> { port.offers }

  package func makeBench(for testCase: Case, seed: UInt64) async throws -> Bench {
    try await port.makeBench(for: testCase, seed: seed)
  }

  package func finish(_ bench: Bench) async { await port.finish(bench) }

  package func close() async {
    await port.close()
    await board.stop()
  }
}

/// The way round the line: reset pin and plug by the board, everything else by its control line.
final class BoardControl: DeviceControl {
  private let board: QEMUBoard

  init(board: QEMUBoard) {
    self.board = board
  }

  func perform(_ command: ControlCommand) async throws {
    do {
      switch command {
      case .reboot: try await board.reset()
      case .unplug: await board.unplug()
      case .plug: try await board.plug()
      case .dismiss(let item): try await ask("dismiss \(item)", command)
      case .action(let item, let act): try await ask("action \(item) \(act)", command)
      case .log(let text): try await ask("log \(text)", command)
      case .fill(let count): try await ask("fill \(count)", command)
      case .clear: try await ask("clear", command)
      case .stall: try await ask("stall", command)
      case .resume: try await ask("resume", command)
      case .strictMode: try await ask("mode strict", command)
      case .firmwareMode: try await ask("mode firmware", command)
      }
    } catch let error as QEMUFailure {
      throw RigTrouble(error.message, remedy: error.remedy)
    }
  }

  private func ask(_ line: String, _ command: ControlCommand) async throws {
    let answer = try await board.perform(line)
    guard answer.hasPrefix("ok") else {
      throw RigTrouble("the firmware refuses \(command): \(answer)", remedy: "see what the case asks for")
    }
  }
}
