import DeviceEmulator
import Foundation
import SerialLink

/// An emulator of this program that this user can see.
struct RunningEmulator: Encodable {
  var pid: Int32
  /// Where it can be reached, as its command line says.
  var place: String

  /// Those of all processes, by their numbers.
  static func all() -> [RunningEmulator] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { Int32($0) }.sorted().flatMap { pid -> [RunningEmulator] in
      guard let line = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") else { return [] }
      let words = line.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
      let folder = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/cwd")) ?? ""
      return places(words, in: folder).map { RunningEmulator(pid: pid, place: $0) }
    }
  }

  /// Where the devices of a command line can be reached; none: another program or command.
  ///
  /// - Parameter folder: the one of the process.
  static func places(_ words: [String], in folder: String) -> [String] {
    guard words.first?.split(separator: "/").last == "notibot", words.dropFirst().first == "emulate" else {
      return []
    }
    let parts = words.dropFirst(2).flatMap { $0.split(separator: "=", maxSplits: 1).map(String.init) }
    let options = Dictionary(zip(parts, parts.dropFirst())) { first, _ in first }
    let count = options["--count"].flatMap { Int($0) } ?? 1
    guard EmulatedCrowdOptions.countRange ~= count else { return [] }
    return (0..<count).map { index in
      let mark = count == 1 ? "" : "-\(index + 1)"
      if let link = options["--link"] { return (link.hasPrefix("/") ? "" : "\(folder)/") + link + mark }
      let services: [(String, NetworkAddress.Service)] = [("--tcp", .bytes), ("--rfc2217", .rfc2217)]
      for (option, service) in services {
        guard let text = options[option], var address = NetworkAddress(service, parsing: text) else {
          continue
        }
        guard address.port > 0 else { return "\(option) \(text), at a port that it has printed" }
        address.port += index
        return address.portAddress.description
      }
      if let server = options["--usbip"] { return "usbip://\(server)\(count == 1 ? "" : " busid 1\(mark)")" }
      return "a pseudo-terminal that it has printed"
    }
  }
}
