import Foundation
import Glibc

/// A `notibot emulate` in a process and a directory of its own.
final class Emulator: Sendable {
  let program: Program
  let directory: TemporaryDirectory
  /// Its announcement.
  let announcement: JSON

  /// The link under which the port is opened.
  var port: String { directory.file("port") }
  /// The control socket.
  var control: String { directory.file("control") }

  /// Starts it and waits until it has announced its port.
  init(_ options: [String] = [], in directory: TemporaryDirectory? = nil) async throws {
    let directory = try directory ?? TemporaryDirectory()
    self.directory = directory
    program = try Program(
      ["emulate", "--json", "--link", directory.file("port"), "--control", directory.file("control")]
        + options)
    do {
      announcement = try JSON(parsing: try await program.output.line(0))
    } catch is Collected.EndedEarly {
      throw SystemError("start an emulator: \(await program.ending().errors)", number: ECHILD)
    }
  }

  /// Ends it with SIGTERM, as a service manager does.
  @discardableResult
  func stop() async -> Program.Ending {
    program.send(SIGTERM)
    return await program.ending()
  }

  /// Sends a request to the control socket, without the command line.
  @discardableResult
  func ask(_ request: JSON) async throws -> JSON {
    let path = control
    let line = request.description + "\n"
    let answer = try await onThread { try UnixSocket.exchange(line, at: path) }
    return try JSON(parsing: answer)
  }

  /// The result of `control stats`.
  func statistics() async throws -> JSON { try await ask(["command": "stats"])["statistics"] }

  /// The JSON of the stored notifications, oldest first.
  func stored() async throws -> [String] {
    try await ask(["command": "list"])["items"].elements.compactMap { $0["json"].string }
  }

  /// Returns when a condition of `control wait` holds.
  func wait(for condition: String) async throws {
    let answer = try await ask(["command": "wait", "until": .string(condition)])
    guard answer["ok"] == true else {
      throw SystemError("await \(condition) of the emulator", number: ETIMEDOUT)
    }
  }
}

/// Runs `body` with an emulator and ends that afterwards.
func withEmulator<Result>(_ options: String..., body: (Emulator) async throws -> Result) async throws
  -> Result
{
  try await withEmulator(options, body: body)
}

func withEmulator<Result>(_ options: [String], body: (Emulator) async throws -> Result) async throws
  -> Result
{
  let emulator = try await Emulator(options)
  do {
    let result = try await body(emulator)
    await emulator.stop()
    return result
  } catch {
    await emulator.stop()
    throw error
  }
}

/// Runs blocking code on a separate thread.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
  }
}

/// Sends one line, returns one line.
enum UnixSocket {
  static func exchange(_ line: String, at path: String) throws -> String {
    let socket = Descriptor(owning: Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    guard path.utf8.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw SystemError("connect to \(path)", number: ENAMETOOLONG)
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    var limit = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(socket.number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket.number, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard connected == 0 else { throw SystemError("connect to \(path)") }
    socket.write(Array(line.utf8))
    var answer: [UInt8] = []
    var byte: UInt8 = 0
    while read(socket.number, &byte, 1) == 1, byte != UInt8(ascii: "\n") { answer.append(byte) }
    return String(decoding: answer, as: UTF8.self)
  }
}
