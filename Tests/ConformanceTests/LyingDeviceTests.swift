import Conformance
import Foundation
import NotibotProtocol
import Rigs
import Testing
import SuiteWire

/// Whatever a device sends in valid frames, the suite reaches a verdict: nothing that it announces
/// or answers is used as a size, an index or a range before it was checked.
///
/// NOTIBOT_LIES=FIRST..LAST runs other seeds than the two, one of each kind.
@Suite struct LyingDeviceTests {
  private static let seeds: ClosedRange<UInt64> = {
    let ends = (ProcessInfo.processInfo.environment["NOTIBOT_LIES"] ?? "1..2")
      .components(separatedBy: "..").compactMap { UInt64($0) }
    return ends.count == 2 && ends[0] <= ends[1] ? ends[0]...ends[1] : 1...2
  }()

  @Test(arguments: seeds)
  func `a device that lies in valid frames fails cases and ends no run`(seed: UInt64) async {
    let results = await Self.results(seed: seed) {
      var lies = Lies(seed: seed)
      return { lies.changed($0) }
    }
    #expect(results.contains { $0.outcome.word == "failed" })
    #expect(results.allSatisfy { $0.outcome.word != "errored" })
  }

  /// LNK-7: bytes beyond a known value are ignored.
  @Test func `a device that announces its limits and state in longer values passes`() async {
    let longer: Set<UInt8> = [0x05, 0x06, 0x0B, 0x0D, 0x12, 0x13]
    let results = await Self.results(seed: 7) {
      { frame in
        guard frame.kind == .synAck, let tlvs = TLV.parse(frame.payload) else { return frame }
        var frame = frame
        frame.payload =
          tlvs.map { tlv in
            longer.contains(tlv.type) ? TLV(tlv.type, tlv.value + [UInt8](repeating: 0xFF, count: 12)) : tlv
          }.payload
        return frame
      }
    }
    _ = reasonsOfSkipped(among: results, "longer values")
    #expect(results.contains { $0.outcome.word == "passed" })
  }

  private static func results(
    seed: UInt64, makeChange: @escaping () -> (WireFrame) -> WireFrame
  ) async -> [CaseResult] {
    let rig = EmulatorRig(wrapLine: { LyingLine($0, change: makeChange()) })
    let cases = Suite.cases
    let results = await Runner(rig: rig, seed: seed).run(cases) { _ in }
    #expect(results.count == cases.count)
    return results
  }
}

/// Changes fields of the frames that a device sends, and their checksums with them.
private final class LyingLine: Line {
  private let line: any Line
  private let change: (WireFrame) -> WireFrame
  private var candidate: [UInt8] = []

  init(_ line: any Line, change: @escaping (WireFrame) -> WireFrame) {
    self.line = line
    self.change = change
  }

  var now: Instant { line.now }

  func drainLateness() -> Duration { line.drainLateness() }

  func write(_ bytes: [UInt8]) async throws { try await line.write(bytes) }

  func read(until deadline: Instant) async throws -> [UInt8] {
    var passed: [UInt8] = []
    for byte in try await line.read(until: deadline) {
      if byte != 0 {
        candidate.append(byte)
        continue
      }
      if let frame = WireFrame(candidate: candidate) {
        passed += change(frame).bytes
      } else {
        passed += candidate + [0]
      }
      candidate = []
    }
    return passed
  }
}

/// Draws what is changed. Half of the seeds lie only in the limits and numbers of the SYNACK, the
/// others in one frame of eight.
private struct Lies {
  private var generator: SeededGenerator
  private let onlyOpening: Bool

  init(seed: UInt64) {
    generator = SeededGenerator(seed: seed)
    onlyOpening = seed % 2 == 1
  }

  mutating func changed(_ frame: WireFrame) -> WireFrame {
    var frame = frame
    if frame.kind == .synAck, Bool.random(using: &generator), let tlvs = TLV.parse(frame.payload) {
      frame.payload = tlvs.map { changed($0) }.payload
    } else if !onlyOpening, Int.random(in: 0..<8, using: &generator) == 0 {
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: frame.ack = extreme()
      case 1: frame.credit = extreme()
      case 2: frame.payload = shortened(frame.payload)
      default: frame.payload = changed(frame.payload)
      }
    }
    frame.payload = Array(frame.payload.prefix(528))
    return frame
  }

  /// Keeps what opens a session: MAGIC, NONCE and VERSION.
  private mutating func changed(_ tlv: TLV) -> TLV {
    guard ![0x81, 0x82, 0x84].contains(tlv.type) else { return tlv }
    switch Int.random(in: 0..<6, using: &generator) {
    case 0: return TLV(tlv.type, shortened(tlv.value))
    case 1: return TLV(tlv.type, tlv.value + [UInt8](repeating: extreme(), count: 12))
    case 2, 3: return TLV(tlv.type, changed(tlv.value))
    default: return tlv
    }
  }

  private mutating func shortened(_ bytes: [UInt8]) -> [UInt8] {
    Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &generator)))
  }

  private mutating func changed(_ bytes: [UInt8]) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
      bytes[Int.random(in: 0..<bytes.count, using: &generator)] = extreme()
    }
    return bytes
  }

  private mutating func extreme() -> UInt8 {
    [0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF, UInt8.random(in: 0...255, using: &generator)]
      .randomElement(using: &generator) ?? 0
  }
}
