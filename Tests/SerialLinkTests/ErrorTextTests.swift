import Foundation
import NIOCore
import Testing

@testable import SerialLink

@Suite struct ErrorTextTests {
  private enum Reason: Error { case tooLong }

  private func text(_ body: () throws -> Void) -> String {
    do {
      try body()
      return ""
    } catch {
      return errorText(error)
    }
  }

  @Test func `errors of Foundation become the reason of the system`() {
    let manager = FileManager.default
    let closed = FileHandle(fileDescriptor: -1, closeOnDealloc: false)
    #expect(text { _ = try closed.read(upToCount: 1) } == "the system refused it (code 256)")
    #expect(
      text { try manager.createDirectory(atPath: "/dev/null/x", withIntermediateDirectories: false) }
        == "Not a directory")
    #expect(text { _ = try manager.contentsOfDirectory(atPath: "/no/such") } == "No such file or directory")
  }

  @Test func `other errors keep their words`() {
    #expect(errorText(Reason.tooLong) == "tooLong")
    #expect(errorText(Failure(.usage, "what", remedy: "do")) == "what; do")
    #expect(errorText(IOError(errnoCode: EACCES, reason: "open")) == "Permission denied")
  }
}
