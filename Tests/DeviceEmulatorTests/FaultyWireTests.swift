import NotibotProtocol
import Testing

@testable import DeviceEmulator

struct FaultyWireTests {
  /// A frame without a payload between its zeros, and text before it.
  private let sample = Array("ok\n".utf8) + bytes("00 02 80 01 03 7c 3a 07 02 40 aa 6c 47 d1 00")

  private func makeWire(_ spec: String, seed: UInt64 = 1) throws -> FaultyWire {
    FaultyWire(spec: try FaultSpec(parsing: spec), seed: seed)
  }

  /// All output that is due now, with the bytes of neighbours joined.
  private func outputs(
    of wire: inout FaultyWire, _ direction: PacedWire.Direction = .toHost, now: Instant = .zero
  ) -> [FaultyWire.Output] {
    var joined: [FaultyWire.Output] = []
    while let output = wire.next(direction, now: now) {
      if case .bytes(let more) = output, case .bytes(let before)? = joined.last {
        joined[joined.count - 1] = .bytes(before + more)
      } else {
        joined.append(output)
      }
    }
    return joined
  }

  /// The rest of the sample on a line with one fault.
  private func passed(_ spec: String, seed: UInt64 = 1) throws -> [UInt8] {
    var wire = try makeWire(spec, seed: seed)
    wire.send(sample, .toHost)
    guard case .bytes(let left)? = outputs(of: &wire).first else { return [] }
    return left
  }

  // MARK: Each fault

  @Test func `a line without faults passes every byte`() throws {
    #expect(try passed("off") == sample)
    #expect(try passed("flip=0,loss=0") == sample)
  }

  @Test func `a flip inverts one bit of its byte`() throws {
    let left = try passed("flip@5/to-host")
    #expect(left.count == sample.count)
    let changed = zip(sample, left).enumerated().filter { $1.0 != $1.1 }
    #expect(changed.map(\.offset) == [4])
    #expect((left[4] ^ sample[4]).nonzeroBitCount == 1)
  }

  @Test func `a lost byte is dropped, a doubled one is duplicated`() throws {
    #expect(try passed("loss@1") == Array(sample.dropFirst()))
    #expect(try passed("loss@18") == Array(sample.dropLast()))
    #expect(try passed("dup@2") == bytes("6f 6b 6b") + sample.dropFirst(2))
  }

  @Test func `an inserted byte precedes its position`() throws {
    let left = try passed("insert@3")
    #expect(left.count == sample.count + 1)
    #expect(left.prefix(2) + left.dropFirst(3) == sample[...])
  }

  @Test func `a run is 1 to 128 consecutive bytes`() throws {
    var lengths: Set<Int> = []
    for seed in UInt64(0)..<2000 {
      var wire = try makeWire("run@11/to-host", seed: seed)
      wire.send((0..<200).map { UInt8($0) }, .toHost)
      guard case .bytes(let left)? = outputs(of: &wire).first else { continue }
      let lost = 200 - left.count
      lengths.insert(lost)
      #expect(left == (0..<10).map { UInt8($0) } + (10 + lost..<200).map { UInt8($0) })
    }
    #expect(lengths == Set(1...128))
  }

  @Test func `after a short write the rest up to its last zero is lost`() throws {
    let next = bytes("00 02 50 01 03 7c 3a 01 06 40 34 78 6c e5 00")
    var wire = try makeWire("short@8/to-host")
    wire.send(sample + next, .toHost)
    #expect(outputs(of: &wire) == [.bytes(Array(sample[..<7]) + next)])
    #expect(wire.counts[.short] == 1)
    #expect(wire.counts.lostBytes == 11)
  }

  @Test func `a short write loses no more than a frame`() throws {
    var wire = try makeWire("short@1/to-host")
    wire.send([UInt8](repeating: 7, count: 1000), .toHost)
    #expect(outputs(of: &wire) == [.bytes([UInt8](repeating: 7, count: 1000 - FaultLane.restLimitBytes))])
  }

  @Test func `a spliced log line is inserted in the middle, complete and without zeros`() throws {
    let left = try passed("splice@9")
    #expect(left.prefix(8) == sample.prefix(8))
    #expect(left.suffix(10) == sample.suffix(10))
    let line = left[8..<left.count - 10]
    #expect(line.last == UInt8(ascii: "\n"))
    #expect(line.count > 20 && !line.contains(0))
  }

  @Test func `a modem manager types towards the device only`() throws {
    var wire = try makeWire("at@1")
    wire.send(sample, .toHost)
    wire.send(sample, .toDevice)
    #expect(outputs(of: &wire) == [.bytes(sample)])
    guard case .bytes(let typed)? = outputs(of: &wire, .toDevice).first else { return #expect(Bool(false)) }
    #expect(typed.count > sample.count && typed.suffix(sample.count) == sample[...])
    #expect(typed.starts(with: Array("AT".utf8)) || typed.starts(with: Array("~~~".utf8)))
  }

  @Test func `bytes at a wrong rate become noise, then the line works again`() throws {
    var wire = try makeWire("garbage@1/to-host")
    let text = [UInt8](repeating: UInt8(ascii: "a"), count: 300)
    wire.send(text, .toHost)
    guard case .bytes(let left)? = outputs(of: &wire).first else { return #expect(Bool(false)) }
    let noise = left.prefix { $0 == 0 || $0 >= 0x80 }
    #expect(!noise.isEmpty && noise.count <= 128)
    let well = left.dropFirst(noise.count)
    #expect(well.allSatisfy { $0 == UInt8(ascii: "a") } && (236...299).contains(well.count))
  }

  @Test func `a deaf receiver works again in the next session`() throws {
    var wire = try makeWire("deaf@3")
    wire.send([1, 2, 3, 4], .toDevice)
    wire.send([5, 6], .toDevice)
    #expect(outputs(of: &wire, .toDevice) == [.bytes([1, 2])])
    #expect(wire.counts.lostBytes == 4)
    wire.endSession()
    wire.send([7, 8], .toDevice)
    #expect(outputs(of: &wire, .toDevice) == [.bytes([7, 8])])
  }

  @Test func `stale bytes are the last ones of the previous session`() throws {
    var wire = try makeWire("stale@4/to-host,stale@7/to-host")
    wire.send([1, 2, 3, 4, 5], .toHost)
    #expect(outputs(of: &wire) == [.bytes([1, 2, 3, 4, 5])])
    #expect(wire.counts[.stale] == 0)
    wire.endSession()
    wire.send([6, 7], .toHost)
    #expect(outputs(of: &wire) == [.bytes([6, 1, 2, 3, 4, 5, 7])])
    #expect(wire.counts[.stale] == 1)
  }

  @Test func `a stall lets nothing pass for its time and loses nothing`() throws {
    var wire = try makeWire("stall@3/to-host,stall-ms=80")
    wire.send([1, 2, 3, 4], .toHost)
    #expect(outputs(of: &wire, now: .ms(10)) == [.bytes([1, 2])])
    #expect(wire.queuedBytes(.toHost) == 2)
    #expect(wire.nextDeadline == .ms(90))
    wire.send([5], .toHost)
    #expect(wire.next(.toHost, now: .ms(89)) == nil)
    #expect(outputs(of: &wire, now: .ms(90)) == [.bytes([3, 4, 5])])
    #expect(wire.nextDeadline == nil)
    #expect(wire.queuedBytes(.toHost) == 0)
  }

  @Test func `a restart and a pulled plug happen at their byte, by default towards the device`()
    throws
  {
    var wire = try makeWire("reboot@3,unplug@2/to-host")
    wire.send([1, 2, 3, 4], .toDevice)
    wire.send([1, 2, 3, 4], .toHost)
    #expect(outputs(of: &wire, .toDevice) == [.bytes([1, 2]), .reboot, .bytes([3, 4])])
    #expect(outputs(of: &wire, .toHost) == [.bytes([1]), .unplug, .bytes([2, 3, 4])])
  }

  @Test func `the directions have independent faults`() throws {
    var wire = try makeWire("loss=0.5,seed=3")
    let sent = (0..<200).map { UInt8($0) }
    wire.send(sent, .toHost)
    wire.send(sent, .toDevice)
    #expect(outputs(of: &wire, .toHost) != outputs(of: &wire, .toDevice))
    #expect(wire.counts(.toHost)[.loss] > 50 && wire.counts(.toDevice)[.loss] > 50)
  }

  @Test func `discarded bytes do not come back`() throws {
    var wire = try makeWire("stall@1/to-host")
    wire.send([1, 2], .toHost)
    #expect(wire.next(.toHost, now: .zero) == nil)
    wire.discard(.toHost)
    #expect(wire.queuedBytes(.toHost) == 0)
    #expect(wire.nextDeadline == nil)
    wire.send([3], .toHost)
    #expect(outputs(of: &wire) == [.bytes([3])])
  }

  // MARK: Repeatable

  private static let everything =
    "flip=0.01,loss=0.01,insert=0.01,dup=0.01,run=0.002,short=0.002,garbage=0.001,splice=0.005/to-host,"
    + "stale=0.003,at=0.005,reboot=0.001,unplug=0.001,stall=0.002,deaf@7000"

  @Test(arguments: [UInt64(1), 2, 3], [1, 2, 3, 64, 997])
  func `pieces of any size have the same faults`(seed: UInt64, piece: Int) throws {
    var generator = SeededGenerator(seed: seed)
    let sent = (0..<8_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
    for direction in PacedWire.Direction.allCases {
      var whole = try makeWire(Self.everything, seed: seed)
      whole.send(Array(sent[..<3_000]), direction)
      whole.endSession()
      whole.send(Array(sent[3_000...]), direction)
      var cut = try makeWire(Self.everything, seed: seed)
      for start in stride(from: 0, to: sent.count, by: piece) {
        // The session ends at the same byte.
        let end = min(sent.count, start + piece)
        if start < 3_000, end >= 3_000 {
          cut.send(Array(sent[start..<3_000]), direction)
          cut.endSession()
          cut.send(Array(sent[3_000..<end]), direction)
        } else {
          cut.send(Array(sent[start..<end]), direction)
        }
      }
      var later = Instant.zero
      var expected: [FaultyWire.Output] = []
      var found: [FaultyWire.Output] = []
      repeat {
        later = later + .seconds(1)
        expected += outputs(of: &whole, direction, now: later)
        found += outputs(of: &cut, direction, now: later)
      } while whole.nextDeadline != nil || cut.nextDeadline != nil
      #expect(found == expected)
      #expect(cut.counts == whole.counts)
      #expect(whole.counts.total > 150)
    }
  }

  @Test func `another seed produces other faults`() throws {
    #expect(try passed("flip=0.2,seed=1") != passed("flip=0.2,seed=2"))
    #expect(try passed("flip=0.2,seed=1", seed: 5) == passed("flip=0.2,seed=1", seed: 6))
  }

  @Test(arguments: [0.1, 1e-2, 1e-3])
  func `the frequency of faults matches their rate`(rate: Double) throws {
    let count = 200_000
    var wire = try makeWire("flip=\(rate)/to-host,loss=\(rate)/to-host")
    for _ in 0..<count / 1000 {
      wire.send([UInt8](repeating: 1, count: 1000), .toHost)
      while wire.next(.toHost, now: .zero) != nil {}
    }
    let expected = rate * Double(count)
    // Five standard deviations of a binomial.
    let margin = 5 * (expected * (1 - rate)).squareRoot()
    for kind in [FaultKind.flip, .loss] {
      #expect(abs(Double(wire.counts[kind]) - expected) <= margin, "\(kind)")
    }
    #expect(wire.counts.lostBytes == wire.counts[.loss])
  }

  @Test func `a probability of one affects every byte`() throws {
    #expect(try passed("loss=1") == [])
    #expect(try passed("dup=1") == sample.flatMap { [$0, $0] })
  }
}
