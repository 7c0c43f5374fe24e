import CSerialShim
import Foundation
import Glibc

/// A terminal pair whose far end is controlled by a test.
final class ControlledTerminal: Sendable {
  /// The path of the port.
  let path: String
  private let received: Collected
  private let master: Descriptor
  private let spareSlave: Descriptor

  /// - Parameter onRead: called with the host's bytes and a function for the answer, on a separate
  ///   thread; default: the far end is silent.
  init(onRead: @escaping @Sendable ([UInt8], _ answer: ([UInt8]) -> Void) -> Void = { _, _ in }) throws {
    let master = try Self.openMaster()
    let path = try Self.slavePath(of: master)
    // Otherwise the pair would hang up when a host closes it.
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

  /// The bytes that hosts have written so far.
  func receivedBytes() -> [UInt8] { received.soFar() }

  /// Writes to the host.
  func write(_ bytes: [UInt8]) { master.write(bytes) }

  /// The rate that a host has set.
  func bitsPerSecond() throws -> UInt32 {
    var (input, output) = (UInt32(0), UInt32(0))
    let result = serial_shim_get_rate(master.number, &input, &output)
    guard result == 0 else { throw SystemError("read the rate of \(path)", number: -result) }
    return output
  }

  /// Opens a port in raw mode, as a host does.
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
