import Foundation
import Glibc
import NotibotProtocol

@testable import DeviceEmulator

/// A host that sends hand-written bytes: a port opened raw, read with a deadline.
final class HostPort {
  /// The limit of a wait for another thread; only a hang takes as long.
  static let hangLimitMilliseconds: Int32 = 60_000

  enum Failure: Error, Equatable {
    case cannotOpen(errno: Int32)
    /// The device disappeared.
    case gone
    case silence
  }

  private let descriptor: Int32
  private var decoder = FrameDecoder(receiving: .fromDevice)
  private(set) var text: [UInt8] = []

  /// - Parameter rate: the rate to set on the line; nil leaves it unchanged.
  init(_ path: String, rate: speed_t? = nil) throws {
    descriptor = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw Failure.cannotOpen(errno: errno) }
    var settings = termios()
    tcgetattr(descriptor, &settings)
    cfmakeraw(&settings)
    if let rate { cfsetspeed(&settings, rate) }
    tcsetattr(descriptor, TCSANOW, &settings)
  }

  deinit {
    close(descriptor)
  }

  /// Writes everything, waiting for room.
  func write(_ bytes: [UInt8]) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else {
        guard errno == EAGAIN else { throw Failure.gone }
        guard wait(for: POLLOUT, milliseconds: Self.hangLimitMilliseconds) else { throw Failure.silence }
      }
    }
  }

  /// Writes a frame.
  func write(
    _ type: FrameType, channel: NotibotProtocol.Channel = .link, session: UInt16 = 0, sequence: UInt8 = 0,
    ack: UInt8 = 0, payload: [UInt8] = []
  ) throws {
    let header = FrameHeader(
      type: type, direction: .fromHost, channel: channel, session: session, sequence: sequence, ack: ack,
      credit: 64)
    try write(Frame(header, payload: payload).encoded())
  }

  /// The bytes received within the time; empty if there are none.
  func read(milliseconds: Int32 = hangLimitMilliseconds) throws -> [UInt8] {
    guard wait(for: POLLIN, milliseconds: milliseconds) else { return [] }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = buffer.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
    if count < 0, errno == EAGAIN { return [] }
    guard count > 0 else { throw Failure.gone }
    return Array(buffer[..<count])
  }

  /// The next frame; throws if none arrives.
  func nextFrame() throws -> Frame {
    while true {
      while let event = decoder.nextEvent() {
        switch event {
        case .frame(let frame): return frame
        case .text(let bytes): text += bytes
        }
      }
      let bytes = try read()
      guard !bytes.isEmpty else { throw Failure.silence }
      decoder.receive(bytes)
    }
  }

  /// The next frame of a type; others are skipped.
  func nextFrame(_ type: FrameType) throws -> Frame {
    while true {
      let frame = try nextFrame()
      if frame.header.type == type { return frame }
    }
  }

  /// SYN, SYNACK, ACK; returns the session.
  func openSession() throws -> UInt16 {
    try write(.syn, payload: Syn(nonce: .random(in: 0 ... .max), limits: hostLimits).encoded())
    let session = try nextFrame(.synack).header.session
    try write(.ack, session: session)
    return session
  }

  private func wait(for events: Int32, milliseconds: Int32) -> Bool {
    var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    return poll(&entry, 1, milliseconds) > 0
  }
}

/// A directory for one test, removed with it.
final class TemporaryDirectory {
  let path: String

  init() throws {
    var template = Array("/tmp/notibot-test-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw HostPort.Failure.cannotOpen(errno: errno) }
    path = String(cString: made)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }

  func file(_ name: String) -> String { "\(path)/\(name)" }
  var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path))?.sorted() ?? [] }
}

/// Permission bits and type of the file at a path; links are not followed.
func mode(of path: String) -> mode_t? {
  var status = stat()
  return lstat(path, &status) == 0 ? status.st_mode : nil
}

/// Waits until an effect of another thread is visible; false after a minute, which only a hang
/// takes.
func eventually(_ condition: () async -> Bool) async -> Bool {
  let end = ContinuousClock.now + .seconds(60)
  while ContinuousClock.now < end {
    if await condition() { return true }
    try? await Task.sleep(for: .milliseconds(2))  // poll
  }
  return false
}

/// Runs `body` with an emulator that is stopped on every exit.
func withEmulator<Result>(
  _ profile: DeviceProfile = .quiet, link: String? = nil, control: String? = nil,
  att: String? = nil, _ body: (EmulatorServer, String) async throws -> Result
) async throws -> Result {
  let server = try await EmulatorServer.start(
    profile: profile, link: link, controlSocket: control, attSocket: att, seed: 1)
  do {
    let result = try await body(server, await server.portPath ?? "")
    await server.stop()
    return result
  } catch {
    await server.stop()
    throw error
  }
}
