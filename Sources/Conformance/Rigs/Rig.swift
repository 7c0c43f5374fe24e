/// Something that the suite runs on: a device, a line to it, and maybe a way round the line.
package protocol Rig: AnyObject {
  /// `emulator`, `pty` or the port's name.
  var name: String { get }
  /// The needs that it meets.
  var offers: Set<Need> { get }

  /// The processes that play the device; none where it is in this process, or a board.
  var peerProcesses: [Int32] { get }

  /// Makes the bench of one case. The device may be the same for all of them or a new one each time.
  ///
  /// - Throws: `RigTrouble` when the device cannot be reached.
  func makeBench(for testCase: Case, seed: UInt64) async throws -> Bench

  /// Undoes what a case may have left behind; called once after each `makeBench`.
  func finish(_ bench: Bench) async

  /// Gives back everything the rig holds.
  func close() async
}

extension Rig {
  package var peerProcesses: [Int32] { [] }
}
