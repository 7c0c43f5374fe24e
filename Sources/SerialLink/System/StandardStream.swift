import Glibc

/// The streams of a process.
package enum StandardStream {
  /// Makes writes fail instead of ending the process: to a pipe whose reader is gone, and to a file
  /// at its limit of size. The reports of a command are written nevertheless.
  package static func ignoreSignals() {
    signal(SIGPIPE, SIG_IGN)
    signal(SIGXFSZ, SIG_IGN)
  }

  /// Opens /dev/null in place of a closed stream. Otherwise the next opened file would get its
  /// number, and output could be written to a board or a file.
  package static func hold() {
    for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(number, F_GETFD) < 0 {
      // Opened in the wrong direction, so that its use fails with EBADF.
      _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Writes all bytes, and waits for a slow reader. Returns the error's number when not all were
  /// written.
  package static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        written += count
      } else if errno == EAGAIN {
        // Another process made the terminal or pipe non-blocking.
        var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&room, 1, -1)
      } else if errno != EINTR {
        return errno
      }
    }
    return nil
  }

  package static func write(_ text: String, to descriptor: Int32) -> Int32? {
    write(Array(text.utf8), to: descriptor)
  }
}
