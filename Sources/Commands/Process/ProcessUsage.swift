import Foundation
import Histogram
import SerialLink

/// Resource usage of processes, as counted by the kernel.
package enum ProcessUsage {
  /// Memory of this process in RAM, in bytes; 0 when it cannot be read.
  package static func residentBytes() -> Int {
    guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
    let fields = text.split(separator: " ")
    guard fields.count > 1, let pages = Int(fields[1]) else { return 0 }
    return pages * sysconf(Int32(_SC_PAGESIZE))
  }

  /// CPU time of this process, user and system, in seconds.
  package static func ownCPUSeconds() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return usage.ru_utime.inSeconds + usage.ru_stime.inSeconds
  }

  /// CPU time of another process, user and system, in seconds, in steps of the kernel's tick (10
  /// ms).
  package static func cpuSeconds(of pid: Int32) throws -> Double {
    // The second field is the program's name, which can contain any character and ends with the
    // last bracket.
    guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
      let bracket = text.lastIndex(of: ")")
    else {
      throw Failure(
        .usage, "cannot measure process \(pid): no such process",
        remedy: "use the emulator's process id with --peer-pid")
    }
    let fields = text[text.index(after: bracket)...].split(separator: " ")
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return 0 }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }
}

/// CPU time of this process and of a peer since the creation of this value.
package struct CPUMeter: Sendable {
  private let peer: Int32?
  private let ownStart: Double
  private let peerStart: Double?

  package init(peer: Int32?) throws {
    self.peer = peer
    ownStart = ProcessUsage.ownCPUSeconds()
    peerStart = try peer.map { try ProcessUsage.cpuSeconds(of: $0) }
  }

  package func seconds() throws -> (own: Double, peer: Double?, total: Double) {
    let own = ProcessUsage.ownCPUSeconds() - ownStart
    guard let peer, let peerStart else { return (own, nil, own) }
    let peers = try ProcessUsage.cpuSeconds(of: peer) - peerStart
    return (own, peers, own + peers)
  }
}

extension timeval {
  fileprivate var inSeconds: Double { Double(tv_sec) + Double(tv_usec) / 1e6 }
}

extension Duration {
  /// This duration in seconds.
  package var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
