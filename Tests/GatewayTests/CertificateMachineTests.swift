import GatewayRules
import Testing

/// When a certificate of 90 days is renewed, and what is reported.
struct CertificateMachineTests {
  private static let day: Int64 = 86_400_000
  private static let start: Int64 = 1_800_000_000_000
  private static let server = term(0, 90)

  private static func at(_ days: Double) -> WallTime {
    WallTime(milliseconds: start + Int64(days * Double(day)))
  }

  private static func term(_ begin: Double, _ end: Double) -> CertificateTerm {
    CertificateTerm(begin: at(begin), end: at(end))
  }

  private static func machine(
    _ server: CertificateTerm = server, authority: CertificateTerm? = term(-10, 3640)
  ) -> CertificateMachine {
    CertificateMachine(files: .init(server: server, authority: authority))
  }

  struct Row: Sendable {
    var name: String
    var now: Double
    var server = CertificateMachineTests.server
    var authority: CertificateTerm? = term(-10, 3640)
    var isRenewed = false
    var problem: String?
  }

  private static let rows = [
    Row(name: "new", now: 0),
    Row(name: "a third left, almost", now: 59.99),
    Row(name: "a third left", now: 60, isRenewed: true),
    Row(name: "ended", now: 91, isRenewed: true),
    Row(name: "ended for years", now: 3000, isRenewed: true),
    Row(
      name: "of the future, of a present authority", now: -5, isRenewed: true,
      problem: "f/leaf.pem is not valid for another 5 days: check the clock"),
    Row(
      name: "of the future, like its authority", now: -11,
      problem: "f/ca.pem is not valid for another 1 day: check the clock"),
    Row(
      name: "the authority ends before the next certificate", now: 1, authority: term(-10, 25),
      problem: "f/ca.pem ends in 24 days: delete ca.pem and ca.key, run notibot-gateway init --renew, "
        + "and give the new ca.pem to the senders"),
    Row(
      name: "the authority has ended", now: 70, authority: term(-10, 69.5),
      problem: "f/ca.pem ended 12 hours ago: delete ca.pem and ca.key, run notibot-gateway init --renew, "
        + "and give the new ca.pem to the senders"),
    Row(name: "of another authority", now: 1, authority: nil),
    Row(
      name: "of another authority, ending", now: 89.5, authority: nil,
      problem: "f/leaf.pem ends in 12 hours: it is not of the authority ca.pem; replace leaf.pem and leaf.key"
    ),
    Row(
      name: "of another authority, ended", now: 90, authority: nil,
      problem: "f/leaf.pem ended 0 seconds ago: it is not of the authority ca.pem; "
        + "replace leaf.pem and leaf.key"),
    Row(
      name: "without a life", now: 1, server: term(2, 0), isRenewed: true,
      problem: "f/leaf.pem is not valid for another 1 day: check the clock"),
  ]

  @Test(arguments: rows) func `a certificate is renewed or reported`(_ row: Row) {
    var machine = Self.machine(row.server, authority: row.authority)
    machine.handleTimeout(now: Self.at(row.now))
    #expect(machine.nextAction() == (row.isRenewed ? .renew : nil), "\(row.name)")
    let problem = machine.problem(now: Self.at(row.now))?.text(in: "f", now: Self.at(row.now))
    #expect(problem == row.problem, "\(row.name)")
  }

  @Test func `the deadline is the time of the renewal`() {
    var machine = Self.machine()
    #expect(machine.nextDeadline == Self.at(60))
    machine.handleTimeout(now: Self.at(60))
    #expect(machine.nextDeadline == nil)
    #expect(Self.machine(authority: nil).nextDeadline == nil)
  }

  @Test func `a failure is a problem, and is tried again later or after a change`() {
    var machine = Self.machine()
    let begin = Self.at(61)
    machine.handleTimeout(now: begin)
    #expect(machine.nextAction() == .renew)
    machine.handleTimeout(now: begin)
    #expect(machine.nextAction() == nil)
    machine.complete(failure: "ca.key is missing", now: begin)
    #expect(
      machine.problem(now: begin)?.text(in: "f", now: begin)
        == "f/leaf.pem ends in 29 days: ca.key is missing")
    let retry = begin.adding(milliseconds: CertificateMachine.retryMs)
    #expect(machine.nextDeadline == retry)
    machine.handleTimeout(now: retry.adding(milliseconds: -1))
    #expect(machine.nextAction() == nil)
    machine.handleTimeout(now: retry)
    #expect(machine.nextAction() == .renew)
    machine.complete(failure: "ca.key is missing", now: retry)
    machine.receive(.init(server: Self.server, authority: Self.term(-10, 3640)), now: retry)
    #expect(machine.nextAction() == .renew)
    machine.complete(failure: nil, now: retry)
    machine.receive(.init(server: Self.term(61, 151), authority: Self.term(-10, 3640)), now: retry)
    #expect(machine.nextAction() == nil)
    #expect(machine.problem(now: retry) == nil)
    #expect(machine.nextDeadline == Self.at(121))
  }

  @Test func `a renewal that changes nothing is not repeated at once`() {
    var machine = Self.machine()
    machine.handleTimeout(now: Self.at(61))
    #expect(machine.nextAction() == .renew)
    machine.complete(failure: nil, now: Self.at(61))
    machine.receive(.init(server: Self.server, authority: Self.term(-10, 3640)), now: Self.at(61))
    #expect(machine.nextAction() == nil)
  }

  @Test func `a clock that is set back does not delay the next attempt`() {
    var machine = Self.machine()
    machine.handleTimeout(now: Self.at(80))
    #expect(machine.nextAction() == .renew)
    machine.complete(failure: "x", now: Self.at(80))
    machine.handleTimeout(now: Self.at(61))
    #expect(machine.nextAction() == .renew)
  }

  @Test func `files that cannot be used are a problem until they change`() {
    var machine = Self.machine()
    machine.receive(unusable: "cannot read f/leaf.pem")
    let now = Self.at(1)
    #expect(
      machine.problem(now: now)?.text(in: "f", now: now)
        == "cannot read f/leaf.pem; the former certificate stays in use")
    machine.receive(.init(server: Self.server, authority: nil), now: now)
    #expect(machine.problem(now: now) == nil)
  }
}
