import ArgumentParser
import Commands
import DeviceEmulator
import Foundation
import HostSuite
import NotibotHost
import NotibotProtocol

/// `notibot-dev line`: which share of a line notifications get, in virtual time.
struct LineCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "line", abstract: "Print which share of a serial line notifications get.",
    discussion: """
      Host and emulated device in virtual time, so that the figures are the same on every computer: a percentage of the \
      line's time that is needed for each notification's frame once, next to its limit. The limit is 100 %, less the \
      damaged frames; and less if 32 requests, or the 4096 bytes of an adapter, do not fill the line while the first \
      answer is on its way.
      """)

  private static let rates: [UInt32] = [115_200, 921_600, 3_000_000]
  private static let latencies = [0, 1, 16]
  private static let texts = [0, 48, 400]
  /// The probability that a frame is damaged, in either direction.
  private static let damages = [0, 0.001, 0.01, 0.05]

  @Option(help: ArgumentHelp("Notifications in each run, 100-100000.", valueName: "number"))
  var count = 2000

  @Flag(help: "Print one document.")
  var json = false

  func validate() throws {
    guard (100...100_000).contains(count) else { throw ValidationError("--count must be 100 to 100000") }
  }

  func run() throws {
    var runs: [LineRun.Result] = []
    if !json { print("     baud  ms each way  text bytes" + Self.damages.map(Self.heading).joined()) }
    for rate in Self.rates {
      for latency in Self.latencies {
        for text in Self.texts {
          let row = try Self.damages.map { damage in
            try LineRun(rate: rate, latencyMs: latency, textBytes: text, damage: damage).measure(count)
          }
          runs += row
          guard !json else { continue }
          let shares = row.map { String(format: "   %5.1f of %5.1f", $0.share * 100, $0.limit * 100) }
            .joined()
          print(String(format: "%9d  %11d  %10d", Int(rate), latency, text) + shares)
        }
      }
    }
    if json { try Output.json(runs) }
  }

  private static func heading(_ damage: Double) -> String {
    String(format: "%7g %% damaged", damage * 100)
  }
}

/// Notifications on one line.
private struct LineRun {
  /// Shares of the line's time, 0...1.
  struct Result: Encodable {
    var bitsPerSecond: UInt32
    var latencyMs: Int
    var textBytes: Int
    var damagedFrames: Double
    var share: Double
    var limit: Double
  }

  private static let seed: UInt64 = 7
  private static let timeLimit = Duration.seconds(3600)
  /// Bytes of the answer to a write: a frame with a PDU of one byte.
  private static let answerBytes = 15.0

  let rate: UInt32
  let latencyMs: Int
  let textBytes: Int
  let damage: Double

  func measure(_ count: Int) throws -> Result {
    var profile = DeviceProfile.bench
    profile.wire = WireModel(pace: .fixed(bitsPerSecond: rate), latency: .milliseconds(latencyMs))
    var configuration = HostConfiguration()
    configuration.pendingRequestsLimit = count
    configuration.lineBitsPerSecond = Int(rate)
    let both = HostAndDevice(profile: profile, seed: Self.seed, configuration: configuration)
    both.withHost { $0.connect(now: $1) }
    guard both.run(within: .seconds(5), until: { $0.host.openedCount == 1 }) else {
      throw DriveCommand.wrong("no session: \(both.host.ends)")
    }
    var generator = SeededGenerator(seed: Self.seed)
    if damage > 0 { both.lineFilter = { bytes, _ in damaged(bytes, by: &generator) } }
    let start = both.now
    let requests = (0..<count).map(payload)
    for request in requests { _ = both.withHost { $0.submit(.sendEncoded(request), now: $1) } }
    guard both.run(within: Self.timeLimit, until: { $0.host.results.count == count }),
      both.host.results.values.allSatisfy({ $0 == .accepted })
    else { throw DriveCommand.wrong("\(both.host.results.count) of \(count), \(both.host.ends)") }
    let bytes = requests.reduce(0) { $0 + Self.wireBytes(of: $1) }
    let needed = PacedWire.lineTime(ofBytes: bytes, at: rate)
    return Result(
      bitsPerSecond: rate, latencyMs: latencyMs, textBytes: textBytes, damagedFrames: damage,
      share: needed / (both.now - start), limit: limit(frameBytes: Double(bytes) / Double(count)))
  }

  private func limit(frameBytes: Double) -> Double {
    let bytesPerSecond = Double(rate) / 10
    let latency = Double(latencyMs) / 1000
    let roundTrip = 2 * latency + (frameBytes + Self.answerBytes) / bytesPerSecond
    let requests = Double(DeviceProfile.bench.limits.requests) * frameBytes / (roundTrip * bytesPerSecond)
    let buffer = Double(WiredDevice.receiveBufferBytes) + frameBytes
    let adapter = latency > 0 ? buffer / (latency * bytesPerSecond) : 1
    return min(1 - damage, requests, adapter)
  }

  private func payload(_ number: Int) -> [UInt8] {
    let text = String(repeating: "x", count: textBytes)
    return Array(#"{"app":"Mail","title":"Jane","text":"\#(text)","timestamp":\#(number)}"#.utf8)
  }

  private static func wireBytes(of json: [UInt8]) -> Int {
    let pdu = ATTPDU.writeRequest(handle: NotibotProfile.Handle.data, value: json)
    let header = FrameHeader(type: .data, direction: .fromHost, channel: .att, session: 1, credit: 64)
    return Frame(header, payload: pdu.encoded()).encoded().count
  }

  /// Flips a bit of some frames: of the byte before a zero, which ends a frame.
  private func damaged(_ bytes: [UInt8], by generator: inout SeededGenerator) -> [UInt8] {
    var bytes = bytes
    for index in bytes.indices.dropFirst() where bytes[index] == 0 && bytes[index - 1] != 0 {
      guard Double.random(in: 0..<1, using: &generator) < damage else { continue }
      bytes[index - 1] ^= bytes[index - 1] == 1 ? 2 : 1
    }
    return bytes
  }
}
