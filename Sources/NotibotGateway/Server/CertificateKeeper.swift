#if Gateway
import GatewayRules
import NIOCore
import NIOPosix
import NIOSSL
import SerialLink

/// The server's certificate of a running gateway: read again when its files change, and renewed
/// before its end. New connections get the present one, others keep theirs.
actor CertificateKeeper {
  /// What a look at the files finds.
  private struct Found {
    var versions: [PrivateFile.Version]
    /// nil: nothing has changed.
    var content: Result<Content, Failure>?
  }

  private struct Content {
    var context: NIOSSLContext
    var files: CertificateMachine.Files
  }

  /// Between two looks at the files.
  private static let period = TimeAmount.seconds(10)

  nonisolated let eventLoop: any EventLoop
  private let folder: GatewayFolder
  private let clock = GatewayClock()
  private let warn: @Sendable (String) -> Void
  /// For new connections.
  private(set) var context: NIOSSLContext
  private var machine: CertificateMachine
  private var versions: [PrivateFile.Version]
  private var reported: CertificateProblem?
  private var timer: Scheduled<Void>?
  private var work: Task<Void, Never>?
  private var isStopped = false

  nonisolated var unownedExecutor: UnownedSerialExecutor { eventLoop.executor.asUnownedSerialExecutor() }

  /// Reads the files, and renews the certificate if that is due. Throws if it cannot be used.
  static func open(
    _ folder: GatewayFolder, eventLoop: any EventLoop, warn: @escaping @Sendable (String) -> Void
  ) async throws(Failure) -> CertificateKeeper {
    let found = await look(folder, since: [])
    guard let content = found.content else { throw Failure(.unfitEnvironment, "no certificate") }
    let keeper: CertificateKeeper
    do throws(Failure) {
      keeper = CertificateKeeper(folder, eventLoop, try content.get(), found.versions, warn)
    } catch {
      throw Failure(error.kind, error.message, remedy: "run notibot-gateway init --renew")
    }
    if found.versions[2].isMissing {
      warn(
        "\(folder.authority) is missing: the certificate is not renewed; notibot-gateway init --renew makes both again"
      )
    }
    await keeper.begin()
    return keeper
  }

  private init(
    _ folder: GatewayFolder, _ eventLoop: any EventLoop, _ content: Content,
    _ versions: [PrivateFile.Version], _ warn: @escaping @Sendable (String) -> Void
  ) {
    (self.folder, self.eventLoop, self.versions, self.warn) = (folder, eventLoop, versions, warn)
    (context, machine) = (content.context, CertificateMachine(files: content.files))
  }

  func stop() {
    isStopped = true
    timer?.cancel()
    work?.cancel()
  }

  /// For the user.
  var problem: String? {
    let now = clock.wall()
    return machine.problem(now: now)?.text(in: folder.path, now: now)
  }

  // MARK: The work

  private func begin() async {
    machine.handleTimeout(now: clock.wall())
    await drainActions()
    arm()
  }

  private func arm() {
    guard !isStopped else { return }
    let untilDeadline = machine.nextDeadline.map { $0.milliseconds - clock.wall().milliseconds }
    let delay = max(
      .milliseconds(10), min(Self.period, untilDeadline.map { .milliseconds($0) } ?? Self.period))
    timer = eventLoop.scheduleTask(in: delay) {
      self.assumeIsolated { keeper in keeper.work = Task { await keeper.check() } }
    }
  }

  private func check() async {
    await look()
    machine.handleTimeout(now: clock.wall())
    await drainActions()
    arm()
  }

  private func drainActions() async {
    while let action = machine.nextAction() {
      switch action {
      case .renew:
        let failure = await Self.renew(folder)
        machine.complete(failure: failure?.description, now: clock.wall())
        await look()
        if failure == nil { warn("\(folder.certificate) was renewed") }
      }
    }
    report()
  }

  private func look() async {
    let found = await Self.look(folder, since: versions)
    versions = found.versions
    switch found.content {
    case nil: break
    case .success(let content):
      context = content.context
      machine.receive(content.files, now: clock.wall())
    case .failure(let failure): machine.receive(unusable: failure.description)
    }
  }

  /// Reports a problem once.
  private func report() {
    let now = clock.wall()
    let problem = machine.problem(now: now)
    if let problem, problem != reported { warn(problem.text(in: folder.path, now: now)) }
    reported = problem
  }

  // MARK: Files

  private static func renew(_ folder: GatewayFolder) async -> Failure? {
    do throws(Failure) {
      try await Certificates.make(in: folder, names: nil)
      return nil
    } catch {
      return error
    }
  }

  private static func look(_ folder: GatewayFolder, since former: [PrivateFile.Version]) async -> Found {
    let pool = NIOThreadPool.singleton
    let files = [folder.certificate, folder.certificateKey, folder.authority, folder.authorityKey]
    let versions = (try? await pool.runIfActive { files.map { PrivateFile.Version(of: $0) } }) ?? former
    guard versions != former else { return Found(versions: former) }
    let found = try? await pool.runIfActive { Result { () throws(Failure) in try read(folder) } }
    guard case .success(var content)? = found, content.files.authority != nil else {
      return Found(versions: versions, content: found)
    }
    if await !Certificates.isOwn(in: folder) { content.files.authority = nil }
    return Found(versions: versions, content: .success(content))
  }

  /// Blocks.
  private static func read(_ folder: GatewayFolder) throws(Failure) -> Content {
    let certificate = try PrivateFile.read(folder.certificate, limitBytes: Certificates.limitBytes)
    let key = try PrivateFile.read(folder.certificateKey, limitBytes: Certificates.limitBytes)
    // Without one, or with another one, the certificate is its user's to replace.
    let authority = (try? PrivateFile.read(folder.authority, limitBytes: Certificates.limitBytes))
      .flatMap { try? NIOSSLCertificate(bytes: $0, format: .pem) }
    do {
      let chain = try NIOSSLCertificate.fromPEMBytes(certificate)
      var tls = TLSConfiguration.makeServerConfiguration(
        certificateChain: chain.map { .certificate($0) },
        privateKey: .privateKey(try NIOSSLPrivateKey(bytes: key, format: .pem)))
      tls.minimumTLSVersion = .tlsv12
      // Offered, not required.
      tls.applicationProtocols = ["h2"]
      guard let server = chain.first else { throw NIOSSLError.failedToLoadCertificate }
      return Content(
        context: try NIOSSLContext(configuration: tls),
        files: CertificateMachine.Files(server: term(of: server), authority: authority.map(term)))
    } catch {
      let reason =
        switch error as? NIOSSLError {
        case .failedToLoadPrivateKey: "the key cannot be read"
        case .failedToLoadCertificate: "the certificate cannot be read"
        default: "they do not belong together"
        }
      throw Failure(
        .unfitEnvironment, "cannot use \(folder.certificate) with \(folder.certificateKey): \(reason)")
    }
  }

  private static func term(of certificate: NIOSSLCertificate) -> CertificateTerm {
    CertificateTerm(
      begin: WallTime(seconds: Int64(certificate.notValidBefore)),
      end: WallTime(seconds: Int64(certificate.notValidAfter)))
  }
}
#endif
