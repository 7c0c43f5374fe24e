import CSerialShim
import Foundation
import Glibc

/// A terminal pair whose far end does what a test says.
final class ControlledTerminal: Sendable {
  /// Where a host finds the port.
  let path: String
  private let received: Collected
  private let master: Descriptor
  private let spareSlave: Descriptor

  /// - Parameter onRead: called with what a host wrote and a way to answer it, on a thread of its own; without it the
  ///   far end is silent.
  init(onRead: @escaping @Sendable ([UInt8], _ answer: ([UInt8]) -> Void) -> Void = { _, _ in }) throws {
    let master = try Self.openMaster()
    let path = try Self.slavePath(of: master)
    // Without it, the pair would hang up when a host leaves.
    spareSlave = try Self.openRaw(path)
    self.path = path
    self.master = master
    received = Collected(reading: master) { onRead($0, master.write) }
  }

  /// A far end that prints `text` whenever a host writes something.
  convenience init(printing text: String) throws {
    let bytes = Array(text.utf8)
    try self.init { _, answer in answer(bytes) }
  }

  /// What hosts have written so far.
  func receivedBytes() -> [UInt8] { received.soFar() }

  /// Writes to the host.
  func write(_ bytes: [UInt8]) { master.write(bytes) }

  /// Opens a port as a host does, with nothing that the kernel changes in the bytes.
  static func openRaw(_ path: String) throws -> Descriptor {
    let port = try Descriptor.opening(path, O_RDWR | O_NOCTTY)
    var settings = termios()
    tcgetattr(port.number, &settings)
    cfmakeraw(&settings)
    guard tcsetattr(port.number, TCSANOW, &settings) == 0 else { throw SystemError("make \(path) raw") }
    return port
  }

  static func openMaster() throws -> Descriptor {
    let number = serial_shim_open_master()
    guard number >= 0 else { throw SystemError("make a terminal", number: -number) }
    return Descriptor(owning: number)
  }

  static func slavePath(of master: Descriptor) throws -> String {
    var name = [CChar](repeating: 0, count: 128)
    let result = serial_shim_slave_path(master.number, &name, name.count)
    guard result == 0 else { throw SystemError("name a terminal", number: -result) }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
