import Glibc

/// Writing to the streams of a process.
package enum StandardStream {
  /// Makes writes fail instead of ending the process: to a pipe whose reader is gone, and to a file
  /// at its limit of size. The reports of a command are written nevertheless.
  package static func ignoreSignals() {
    signal(SIGPIPE, SIG_IGN)
    signal(SIGXFSZ, SIG_IGN)
  }

  /// Writes all of `text`, and waits for a slow reader. Returns the error's number when not all was
  /// written.
  package static func write(_ text: String, to descriptor: Int32) -> Int32? {
    var text = text
    return text.withUTF8 { bytes -> Int32? in
      var written = 0
      while written < bytes.count {
        let count = Glibc.write(descriptor, bytes.baseAddress! + written, bytes.count - written)
        if count >= 0 {
          written += count
        } else if errno == EAGAIN {
          // Another process made the terminal or pipe non-blocking.
          var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          poll(&wait, 1, -1)
        } else if errno != EINTR {
          return errno
        }
      }
      return nil
    }
  }
}
