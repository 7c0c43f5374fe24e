import Glibc
import Testing

@testable import SerialLink

@Suite struct FailureKindTests {
  @Test func `the numbers are those of the documented exit codes`() {
    #expect(
      FailureKind.allCases.map(\.rawValue) == [1, 2, 10, 11, 12, 13, 14, 15, 16, 17, 18, 129, 130, 131, 143])
  }

  @Test func `a server's refusal has its kind, and never that of a success, a test or a signal`() {
    for exit in [2, 10, 11, 12, 13, 14, 15, 16, 17, 18] as [Int32] {
      #expect(FailureKind(refusedWith: exit).rawValue == exit)
      let problem = ShareProblem.refused(reason: "r", hint: "h", FailureKind(refusedWith: exit))
      #expect(PortError(.share(problem), port: "share:", operation: "open").kind.rawValue == exit)
    }
    for exit in [0, 1, 3, -1, 19, 130, 143, .max, .min] as [Int32] {
      #expect(FailureKind(refusedWith: exit) == .unfitEnvironment)
    }
  }

  @Test func `a signal has 128 and its number`() {
    for number in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
      #expect(FailureKind(signal: number).rawValue == 128 + number)
    }
  }
}
