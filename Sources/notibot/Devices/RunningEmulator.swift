import Foundation
import SerialLink

/// An emulator of this program that this user can see.
struct RunningEmulator: Encodable {
  var pid: Int32
  /// Where it can be reached, as its command line says; printable.
  var place: String

  /// Those of all processes, by their numbers.
  static func all() -> [RunningEmulator] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { Int32($0) }.sorted().compactMap { pid in
      guard let line = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") else { return nil }
      let words = line.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
      return RunningEmulator(pid: pid, words: words)
    }
  }

  /// nil: another program, or another command.
  init?(pid: Int32, words: [String]) {
    guard words.first?.split(separator: "/").last == "notibot", words.dropFirst().first == "emulate" else {
      return nil
    }
    self.pid = pid
    let places = ["--link": "", "--tcp": "socket://", "--rfc2217": "rfc2217://", "--usbip": "usbip://"]
    let parts = words.dropFirst(2).flatMap { $0.split(separator: "=", maxSplits: 1).map(String.init) }
    for (option, value) in zip(parts, parts.dropFirst()) {
      guard let scheme = places[option] else { continue }
      place = scheme + value.printable
      return
    }
    place = "a pseudo-terminal that it has printed"
  }
}
