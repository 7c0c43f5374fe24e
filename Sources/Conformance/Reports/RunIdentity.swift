import Foundation
import NotibotProtocol
package import SuiteWire

/// The tested device and the tester: part of every report, so that a report is complete on its own.
package struct RunIdentity: Equatable, Sendable {
  /// One fact, with its name in the reports.
  package struct Fact: Equatable, Sendable {
    package var name: String
    package var value: String
  }

  /// A device's description of itself in a SYNACK; each field is nil if missing. Source:
  /// PROTOCOL.md LNK-5.
  package struct Device: Equatable, Sendable, Encodable {
    package var id: String?
    package var firmware: String?
    package var version: String?
    /// Hexadecimal digits, or text if it is text.
    package var build: String?

    package init(announced: [TLV]) {
      id = announced.value(of: 0x0E).map { $0.map { Wire.hex([$0]).uppercased() }.joined(separator: ":") }
      firmware = announced.value(of: 0x0F).map { String(decoding: $0, as: UTF8.self) }
      version = announced.value(of: 0x10).map { String(decoding: $0, as: UTF8.self) }
      build = announced.value(of: 0x11).map(Self.readable)
    }

    /// A build's hash is sent as bytes or as digits.
    private static func readable(_ bytes: [UInt8]) -> String {
      let isText = !bytes.isEmpty && bytes.allSatisfy { (0x21...0x7E).contains($0) }
      return isText ? String(decoding: bytes, as: UTF8.self) : Wire.hex(bytes)
    }
  }

  /// Where the device is connected; each field is nil if it does not apply.
  package struct Connection: Equatable, Sendable, Encodable {
    /// The device node.
    package var path: String?
    /// The name of the adapter, such as `Silicon Labs CP210x`.
    package var board: String?
    package var driver: String?
    package var bitsPerSecond: UInt32?

    package init(
      path: String? = nil, board: String? = nil, driver: String? = nil, bitsPerSecond: UInt32? = nil
    ) {
      (self.path, self.board, self.driver, self.bitsPerSecond) = (path, board, driver, bitsPerSecond)
    }
  }

  /// The computer and the program that ran the test.
  package struct Bench: Equatable, Sendable, Encodable {
    package var notibot: String
    package var host: String
    package var kernel: String

    /// This computer.
    /// - Parameter notibot: the version of this program.
    package init(notibot: String) {
      self.notibot = notibot
      var name = utsname()
      uname(&name)
      func text<Field>(_ field: Field) -> String {
        withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      }
      host = text(name.nodename)
      kernel = "\(text(name.sysname)) \(text(name.release)) \(text(name.machine))"
    }
  }

  package var device: Device?
  package var connection: Connection
  package var bench: Bench

  package init(connection: Connection = Connection(), bench: Bench) {
    self.connection = connection
    self.bench = bench
  }

  /// All known facts, in the order of the reports.
  package var facts: [Fact] {
    let values: [(String, String?)] = [
      ("device.id", device?.id), ("device.firmware", device?.firmware), ("device.version", device?.version),
      ("device.build", device?.build), ("connection.path", connection.path),
      ("connection.board", connection.board), ("connection.driver", connection.driver),
      ("connection.bitsPerSecond", connection.bitsPerSecond.map { "\($0)" }),
      ("bench.notibot", bench.notibot), ("bench.host", bench.host), ("bench.kernel", bench.kernel),
    ]
    return values.compactMap { name, value in value.map { Fact(name: name, value: $0) } }
  }

  /// The tested device, in one line; not sanitised.
  package var deviceLine: String {
    let parts = [
      device?.id, device?.firmware, device?.version, device?.build.map { "build \($0)" }, connection.path,
      connection.board, connection.driver, connection.bitsPerSecond.map { "\($0) baud" },
    ].compactMap(\.self)
    return parts.isEmpty ? "it announces nothing about itself" : parts.joined(separator: ", ")
  }

  /// The tester, in one line; not sanitised.
  package var benchLine: String { "notibot \(bench.notibot) on \(bench.host), \(bench.kernel)" }
}

extension RunIdentity.Device {
  /// Queries the device behind a rig: opens a session and ends it. Nil if there is no session, or
  /// no answer.
  package static func of(_ rig: any Rig, seed: UInt64) async -> RunIdentity.Device? {
    guard rig.offers.contains(.session) else { return nil }
    let question = Case("LNK-5/identity", "a device describes itself") { _, _ in }
    // Only the heading depends on the answer; faults of the device or the rig are reported by the
    // cases.
    guard let bench = try? await rig.makeBench(for: question, seed: seed) else { return nil }
    try? await bench.probe.open(attempts: 4)
    let announced = bench.probe.session.announced
    await rig.finish(bench)
    return announced.isEmpty ? nil : RunIdentity.Device(announced: announced)
  }
}
