/// An environment for the suite: a device, a line to it, and optionally a control channel.
package protocol Rig: AnyObject {
  /// `emulator`, `pty` or the port's name.
  var name: String { get }
  /// The needs that it meets.
  var offers: Set<Need> { get }

  /// What answers its attribute requests.
  var server: AttributeServer { get }

  /// The boot id of the device when it was first reached, in hexadecimal; nil if it is not known.
  var bootID: String? { get }

  /// The processes that play the device; none if it is in this process, or a board.
  var peerProcesses: [Int32] { get }

  /// Why no further case can run on it, because its device does not answer any more; nil if it can.
  var loss: RigTrouble? { get }

  /// Makes the bench of one case. The device can be the same for all of them or a new one each
  /// time.
  ///
  /// - Throws: `RigTrouble` if the device cannot be reached.
  func makeBench(for testCase: Case, seed: UInt64) async throws -> Bench

  /// Undoes the effects of a case; called once after each `makeBench`.
  func finish(_ bench: Bench) async

  /// Gives back the state of a device that is not the rig's own, and releases all resources.
  func close() async
}

/// What answers a device's attribute requests.
package enum AttributeServer: String, CaseIterable, Sendable {
  /// The device itself, by all rules of PROTOCOL.md.
  case own
  /// A Bluetooth stack, in its own way where a rule is marked with †.
  case stack
}

extension Rig {
  package var server: AttributeServer { .own }
  package var bootID: String? { nil }
  package var loss: RigTrouble? { nil }
  package var peerProcesses: [Int32] { [] }
}
