package import NIOCore

/// A change of the lines, and when it was made.
package struct PlayedChange: Hashable, Sendable {
  package let lines: ModemLines
  /// Since the start of the sequence, measured when the call returned.
  package let at: Duration
}

extension SerialChannel {
  /// Plays a sequence on the lines of an open channel, and returns when its last wait is over.
  ///
  /// Each change has its own offset from the start, kept by a task of the channel's event loop, so
  /// that neither the duration of one call nor a busy processor delays the next. If a change is
  /// still later than `latenessLimit`, for example because the call itself took that long, the rest
  /// is shifted: a pulse can become longer, but never shorter.
  ///
  /// - Throws: `.noModemLines`, `.deviceGone`, errors of the driver. Both lines are released
  ///   before, if the port still permits it: a board must not stay in reset.
  @discardableResult
  package static func play(
    _ sequence: ResetSequence, on channel: any Channel
  ) async throws(PortError) -> [PlayedChange] {
    do {
      return try await channel.eventLoop.flatSubmit {
        let player = SequencePlayer(sequence, on: channel)
        player.start()
        return player.played
      }.get()
    } catch {
      throw (error as? PortError)
        ?? PortError(.deviceGone, port: "port", operation: LineCommand.linesOperation)
    }
  }
}

/// Plays one sequence. Lives on its channel's event loop.
private final class SequencePlayer {
  /// How late a change can be without shifting the rest.
  static let latenessLimit = TimeAmount.milliseconds(5)

  private let channel: any Channel
  private let promise: EventLoopPromise<[PlayedChange]>
  private let sequence: ResetSequence
  private var changes: ArraySlice<ResetSequence.Change> = []
  private var length = Duration.zero
  /// The origin of the offsets; later than `begin` if the rest was shifted.
  private var origin: NIODeadline
  private let begin: NIODeadline
  private var done: [PlayedChange] = []

  init(_ sequence: ResetSequence, on channel: any Channel) {
    self.sequence = sequence
    self.channel = channel
    promise = channel.eventLoop.makePromise()
    begin = channel.eventLoop.now
    origin = begin
  }

  var played: EventLoopFuture<[PlayedChange]> { promise.futureResult }

  func start() {
    do {
      let before = try SerialChannel.linesOnLoop(of: channel)
      let (changes, length) = sequence.changes(from: before)
      (self.changes, self.length) = (changes[...], length)
      step()
    } catch {
      promise.fail(error)
    }
  }

  /// Makes every change that is due, and arms a task for the next.
  private func step() {
    while let change = changes.first {
      let due = origin + TimeAmount(change.offset)
      guard due <= channel.eventLoop.now else { return arm(due) }
      changes.removeFirst()
      // Behind a server the answer comes later; the next change does not wait for it.
      SerialChannel.startOnLoop(.lines(change.lines), on: channel).assumeIsolated().whenFailure {
        self.fail($0)
      }
      let made = NIODeadline.now()
      if made - due > Self.latenessLimit { origin = origin + (made - due) }
      done.append(PlayedChange(lines: change.lines, at: .nanoseconds((made - begin).nanoseconds)))
    }
    let end = origin + TimeAmount(length)
    if end <= channel.eventLoop.now { promise.succeed(done) } else { arm(end) }
  }

  private func arm(_ deadline: NIODeadline) {
    channel.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.step() }
  }

  private func fail(_ error: any Error) {
    // Later errors are ignored: the first one counts.
    changes = []
    _ = SerialChannel.startOnLoop(.lines(ModemLines(dtr: false, rts: false)), on: channel)
    promise.fail(error)
  }
}
