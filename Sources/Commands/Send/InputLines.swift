import Foundation
import NIOCore
import NIOPosix
import SerialLink

/// The lines of a file or of standard input, as many at a time as are available, so that a line in
/// a pipe is processed immediately and a long file is read in large pieces.
final class InputLines {
  private static let readSizeBytes = 65_536

  /// The size of a regular file in bytes; `nil` for anything else.
  let sizeBytes: Int?
  /// Bytes of whole lines handed out so far.
  private(set) var doneBytes = 0

  private let name: String
  private let source: Descriptor
  /// Waits for input. The shared pool has one thread per processor: on a computer with one, a wait
  /// there would keep everything else from being done.
  private let thread = NIOThreadPool(numberOfThreads: 1)
  private var cutter = LineCutter()
  private var hasEnded = false

  /// - Parameter path: a file, or `-` for standard input.
  /// - Throws: `Failure` when it cannot be opened.
  init(path: String) throws {
    name = path == "-" ? "standard input" : path.printable
    if path == "-" {
      source = Descriptor(number: STDIN_FILENO, isOwned: false)
    } else {
      // Without O_NONBLOCK the open of a FIFO waits for its writer.
      let opened = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
      guard opened >= 0 else {
        throw Failure(
          .usage, "cannot read \(name): \(String(cString: strerror(errno)))",
          remedy: "use a file with one JSON document per line, or - for standard input")
      }
      source = Descriptor(number: opened, isOwned: true)
    }
    var status = stat()
    guard fstat(source.number, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
      throw Failure(
        .usage, "cannot read \(name): it is a directory",
        remedy: "use a file with one JSON document per line, or - for standard input")
    }
    let isFile = status.st_mode & S_IFMT == S_IFREG
    sizeBytes = isFile ? Int(status.st_size) : nil
    thread.start()
  }

  deinit {
    thread.shutdownGracefully { _ in }
  }

  /// Everything up to the end, as text without the last line end: more than the display shows is
  /// refused. Throws as `next`.
  func wholeText() async throws -> String {
    var text: [UInt8] = []
    while case let bytes = try await read(), !bytes.isEmpty {
      text += bytes
      guard text.count <= LineCutter.limitBytes else {
        throw Failure(
          .usage, "\(name) has more than \(LineCutter.limitBytes) bytes", remedy: "shorten the text")
      }
    }
    if text.last == UInt8(ascii: "\n") { text.removeLast() }
    return String(decoding: text, as: UTF8.self)
  }

  /// The next lines, at least one; `nil` at the end. Empty lines are omitted.
  /// - Throws: `Failure` when reading fails; `CancellationError`.
  func next() async throws -> [LineCutter.Line]? {
    while true {
      var lines: [LineCutter.Line] = []
      while let line = cutter.next(isEnd: hasEnded) { lines.append(line) }
      if !lines.isEmpty {
        doneBytes = cutter.doneBytes
        return lines
      }
      if hasEnded { return nil }
      let bytes = try await read()
      hasEnded = bytes.isEmpty
      cutter.receive(bytes)
    }
  }

  /// Waits for bytes on the thread, and for cancellation; returns no bytes at the end of the
  /// input.
  private func read() async throws -> [UInt8] {
    try Task.checkCancellation()
    let (thread, source, wake) = (thread, source, try WakeUp())
    let result = try await withTaskCancellationHandler {
      try await thread.runIfActive { source.read(unless: wake) }
    } onCancel: {
      wake.signal()
    }
    try Task.checkCancellation()
    return try result.mapError {
      Failure(
        $0.kind, "cannot read \(name): \($0.message)",
        remedy: "use a file or a pipe with one JSON document per line")
    }.get()
  }

  private static func failure(_ number: Int32) -> Failure {
    Failure(number == EISDIR ? .usage : .unfitEnvironment, String(cString: strerror(number)))
  }

  private final class Descriptor: Sendable {
    let number: Int32
    private let isOwned: Bool

    init(number: Int32, isOwned: Bool) {
      self.number = number
      self.isOwned = isOwned
    }

    deinit {
      if isOwned { close(number) }
    }

    /// Blocks until bytes are available or `wake` is signalled.
    func read(unless wake: WakeUp) -> Result<[UInt8], Failure> {
      var descriptors = [
        pollfd(fd: number, events: Int16(POLLIN), revents: 0),
        pollfd(fd: wake.readEnd, events: Int16(POLLIN), revents: 0),
      ]
      while true {
        while poll(&descriptors, nfds_t(descriptors.count), -1) < 0 {
          guard errno == EINTR else { return .failure(InputLines.failure(errno)) }
        }
        if descriptors[1].revents != 0 { return .success([]) }
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: InputLines.readSizeBytes) { buffer, count in
          let read = Foundation.read(number, buffer.baseAddress, buffer.count)
          if read < 0 { failure = errno }
          count = max(0, read)
        }
        switch failure {
        case 0: return .success(bytes)
        case EAGAIN, EINTR: continue
        case let number: return .failure(InputLines.failure(number))
        }
      }
    }
  }

  /// Ends a wait from another thread.
  private final class WakeUp: Sendable {
    let readEnd: Int32
    private let writeEnd: Int32

    init() throws {
      var ends: [Int32] = [0, 0]
      guard pipe(&ends) == 0 else {
        throw Failure(.unfitEnvironment, "cannot create a pipe: \(String(cString: strerror(errno)))")
      }
      (readEnd, writeEnd) = (ends[0], ends[1])
    }

    deinit {
      close(readEnd)
      close(writeEnd)
    }

    func signal() {
      var byte: UInt8 = 1
      _ = write(writeEnd, &byte, 1)
    }
  }
}
