import Foundation
import NotibotProtocol
import SerialLink
import Testing

@testable import NotibotHost

/// A board selected by its identity. Two boards are plugged in, simulated on terminals and listed
/// as in sysfs.
struct DeviceFindingTests {
  private static let names = ["ttyUSB0", "ttyUSB1"]
  private static let boards = [
    [0x24, 0x6F, 0x28, 0, 0, 1], [0x24, 0x6F, 0x28, 0xAA, 0xBB, 0xCC] as [UInt8],
  ]

  /// Runs `body` with the list of both.
  private func withBoards(_ boards: [[UInt8]] = Self.boards, _ body: (PortList) async throws -> Void)
    async throws
  {
    let root = FileManager.default.temporaryDirectory.appendingPathComponent("boards-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: root) }
    let list = PortList(sysfsRoot: root.path + "/sys", deviceRoot: root.path + "/dev")
    try await TablePeer.withPeer(deviceID: DeviceID(octets: boards[0])) { first in
      try await TablePeer.withPeer(deviceID: DeviceID(octets: boards[1])) { second in
        for (name, terminal) in zip(Self.names, [first, second]) {
          try plug(name, terminal: terminal, into: root)
        }
        try await body(list)
      }
    }
  }

  /// The sysfs entries of a CP210x, and a device node that links to `terminal`.
  private func plug(_ name: String, terminal: String, into root: URL) throws {
    let device = root.appendingPathComponent("sys/devices/\(name)")
    let tty = root.appendingPathComponent("sys/class/tty/\(name)")
    let node = root.appendingPathComponent("dev/\(name)")
    for folder in [device, tty, node.deletingLastPathComponent()] {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }
    try Data("10c4\n".utf8).write(to: device.appendingPathComponent("idVendor"))
    try Data("ea60\n".utf8).write(to: device.appendingPathComponent("idProduct"))
    try FileManager.default.createSymbolicLink(
      at: tty.appendingPathComponent("device"), withDestinationURL: device)
    try FileManager.default.createSymbolicLink(atPath: node.path, withDestinationPath: terminal)
  }

  @Test(arguments: ["24:6F:28:AA:BB:CC", "24:6f:28:aa:bb:cc"])
  func `the board with this id is found at any port`(id: String) async throws {
    try await withBoards { list in
      let device = try await Device.connect(to: .deviceID(id), options: DeviceOptions(), ports: list)
      #expect(device.port == list.deviceRoot + "/ttyUSB1")
      #expect(await device.info.deviceID == "24:6F:28:AA:BB:CC")
      await device.close()
    }
  }

  @Test func `without a match the error is noBoard and lists the boards`() async throws {
    try await withBoards { list in
      let error = try await #require(throws: NotibotError.self) {
        try await Device.connect(to: .deviceID("24:6F:28:00:00:99"), options: DeviceOptions(), ports: list)
      }
      #expect(error.code == .noBoard)
      #expect("\(error)".contains("none of 2 boards has this id"))
      #expect(error.hint.contains("24:6F:28:00:00:01") && error.hint.contains("24:6F:28:AA:BB:CC"))
    }
  }

  @Test func `its address is returned, and the port is free afterwards`() async throws {
    try await withBoards { list in
      let options = DeviceOptions()
      for _ in 0..<2 {
        let address = try await Device.address(
          ofBoard: "24:6F:28:AA:BB:CC", options: options, ports: list)
        #expect(address == .tty(path: list.deviceRoot + "/ttyUSB1"))
      }
    }
  }

  @Test func `two matches are an error that names both, and both are free afterwards`() async throws {
    try await withBoards([Self.boards[1], Self.boards[1]]) { list in
      for _ in 0..<2 {
        let error = try await #require(throws: NotibotError.self) {
          try await Device.connect(to: .deviceID("24:6F:28:AA:BB:CC"), options: DeviceOptions(), ports: list)
        }
        #expect(error.code == .noBoard)
        #expect(
          error.reason == "2 ports match: \(list.deviceRoot)/ttyUSB0, \(list.deviceRoot)/ttyUSB1")
      }
    }
  }
}
