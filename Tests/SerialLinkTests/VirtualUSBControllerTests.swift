import Foundation
import NIOCore
import NIOPosix
import Testing

@testable import SerialLink

/// Plugging a device into a folder with the files of vhci_hcd.
@Suite struct VirtualUSBControllerTests {
  /// As the kernel prints it: the first port is taken, the high-speed ports come before the
  /// super-speed ones.
  private static let status = """
    hub port sta spd dev      sockfd local_busid
    hs  0000 006 002 00010001 000003 1-1
    hs  0001 004 000 00000000 000000 0-0
    ss  0008 004 000 00000000 000000 0-0

    """

  private final class Folder {
    let url = FileManager.default.temporaryDirectory.appending(path: "vhci-\(UUID().uuidString)")

    init(_ files: [String: String]) throws {
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
      for (name, text) in files { try Data(text.utf8).write(to: url.appending(path: name)) }
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    var attached: [String] {
      let text = try? String(contentsOf: url.appending(path: "attach"), encoding: .utf8)
      return text?.split(separator: " ").map(String.init) ?? []
    }

    func attach() async throws(PortError) {
      let channel = try await VirtualUSBController(path: url.path).attach(
        deviceID: 65_537, speed: 2, on: MultiThreadedEventLoopGroup.singleton.next(), initializer: { _ in })
      channel.close(promise: nil)
    }
  }

  @Test func `free ports are those of full speed in state 004`() {
    #expect(VirtualUSBController.freePorts(in: Array(Self.status.utf8)) == [1])
    let odd = "hs 0002 004\nhs x 004 0\n\nhs  0003\nss 0004 004 0\nhs 0012 004 000\n"
    #expect(VirtualUSBController.freePorts(in: Array(odd.utf8)) == [2, 12])
  }

  @Test func `the first free port of all controllers gets a socket, an id and a speed`() async throws {
    let taken = Self.status.replacingOccurrences(of: "hs  0001 004", with: "hs  0001 006")
    let second = "hub port sta spd dev sockfd local_busid\nhs  0016 004 000 0 0 0-0\n"
    let folder = try Folder(["status": taken, "status.1": second, "attach": ""])
    try await folder.attach()
    let words = folder.attached
    try #require(words.count == 4)
    #expect([words[0], words[2], words[3]] == ["16", "65537", "2"])
    #expect((Int32(words[1]) ?? 0) > 2)
  }

  @Test func `without the module, or without a free port, the error says so`() async throws {
    let full = try Folder(["status": "hs  0000 006 002 0 0 1-1\n", "attach": ""])
    await #expect { try await full.attach() } throws: { "\($0)".contains("no free port") }
    #expect(full.attached.isEmpty)
    let empty = try Folder([:])
    await #expect { try await empty.attach() } throws: { "\($0)".contains("vhci_hcd is not loaded") }
  }
}
