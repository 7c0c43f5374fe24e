/// Decides when a running gateway renews its server's certificate, and what the user has to know.
///
/// States of the renewal: *resting* → *running* when a third of the certificate's life is left, or
/// when it is not valid yet although its authority is → *ended*, until the next attempt or a change
/// of the files by others. `now` is the calendar, which can be set.
package struct CertificateMachine: Hashable, Sendable {
  /// What the files say.
  package struct Files: Hashable, Sendable {
    package var server: CertificateTerm
    /// nil: the server's certificate is not of the authority in the folder.
    package var authority: CertificateTerm?

    package init(server: CertificateTerm, authority: CertificateTerm?) {
      self.server = server
      self.authority = authority
    }
  }

  package enum Action: Hashable, Sendable {
    case renew
  }

  /// With the failure of the last attempt.
  private enum State: Hashable {
    case resting(failure: String?)
    case running(failure: String?)
    case ended(failure: String?, at: WallTime)
  }

  /// Milliseconds between two attempts.
  package static let retryMs: Int64 = 300_000
  private static let foreign = "it is not of the authority ca.pem; replace leaf.pem and leaf.key"
  private static let newAuthority =
    "delete ca.pem and ca.key, run notibot-gateway init --renew, and give the new ca.pem to the senders"

  private var files: Files
  private var unusable: String?
  private var state = State.resting(failure: nil)
  private var actions: [Action] = []

  package init(files: Files) {
    self.files = files
  }

  // MARK: Inputs

  /// The files have changed.
  package mutating func receive(_ changed: Files, now: WallTime) {
    (files, unusable) = (changed, nil)
    switch state {
    case .resting, .running, .ended(nil, _): break
    case .ended(let failure, _): state = .resting(failure: failure)
    }
    handleTimeout(now: now)
  }

  /// The files have changed, and cannot be used.
  package mutating func receive(unusable reason: String) { unusable = reason }

  package mutating func handleTimeout(now: WallTime) {
    guard needsRenewal(now) else { return }
    switch state {
    case .running: return
    case .ended(_, let at) where abs(now.milliseconds - at.milliseconds) < Self.retryMs: return
    case .ended(let failure, _), .resting(let failure): state = .running(failure: failure)
    }
    actions.append(.renew)
  }

  /// The end of a renewal. After one without a `failure`, `receive` follows.
  package mutating func complete(failure: String?, now: WallTime) {
    state = .ended(failure: failure, at: now)
  }

  // MARK: Outputs

  package mutating func nextAction() -> Action? { actions.isEmpty ? nil : actions.removeFirst() }

  /// When to call `handleTimeout`; nil: not before the files change.
  package var nextDeadline: WallTime? {
    guard files.authority != nil else { return nil }
    switch state {
    case .running: return nil
    case .resting: return files.server.renewal
    case .ended(_, let at): return max(files.server.renewal, at.adding(milliseconds: Self.retryMs))
    }
  }

  // MARK: Queries

  package func problem(now: WallTime) -> CertificateProblem? {
    if let unusable { return .unusable(reason: unusable) }
    if let authority = files.authority {
      if now < authority.begin { return .early(.authority, authority) }
      // Before the certificates that it signs.
      if authority.end.adding(milliseconds: -files.server.thirdMs) <= now {
        return .ending(.authority, authority, reason: Self.newAuthority)
      }
    }
    if now < files.server.begin { return .early(.server, files.server) }
    guard files.server.renewal <= now else { return nil }
    let reason =
      switch state {
      case .resting(let failure), .running(let failure), .ended(let failure, _): failure
      }
    return (reason ?? (files.authority == nil ? Self.foreign : nil))
      .map { .ending(.server, files.server, reason: $0) }
  }

  private func needsRenewal(_ now: WallTime) -> Bool {
    guard let authority = files.authority, authority.contains(now) else { return false }
    return files.server.renewal <= now || now < files.server.begin
  }
}
