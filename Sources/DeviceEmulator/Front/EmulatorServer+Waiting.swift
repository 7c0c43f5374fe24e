import NIOCore
import NotibotProtocol

/// The clock, and answers to `control wait`.
extension EmulatorServer {
  /// The time of the machines.
  static var now: Instant {
    Instant(nanoseconds: Int64(clamping: NIODeadline.now().uptimeNanoseconds))
  }

  /// The most that wait at a time.
  static let waitersLimit = 64
  /// The longest wait.
  package static let waitLimit = Duration.seconds(60)

  /// One that waits.
  struct Waiter {
    let number: UInt64
    let condition: DeviceCondition
    let answer: CheckedContinuation<ControlReply, Never>
    let limit: Scheduled<Void>
  }

  /// Returns when the condition holds; refused if it does not within `waitLimit`.
  package func wait(for condition: DeviceCondition) async -> ControlReply {
    if hasStopped { return .refused("the emulator has stopped") }
    if condition.holds(for: statistics) { return ControlReply() }
    guard waiters.count < Self.waitersLimit else {
      return .refused("\(Self.waitersLimit) others wait already")
    }
    waitersBefore += 1
    let number = waitersBefore
    return await withCheckedContinuation { answer in
      let limit = loop.assumeIsolated().scheduleTask(in: TimeAmount(Self.waitLimit)) {
        self.assumeIsolated { $0.endWait(number) }
      }
      waiters.append(Waiter(number: number, condition: condition, answer: answer, limit: limit))
    }
  }

  /// Answers those whose condition holds now.
  func answerWaiters() {
    guard !waiters.isEmpty else { return }
    let statistics = statistics
    for waiter in waiters where waiter.condition.holds(for: statistics) {
      waiter.limit.cancel()
      waiter.answer.resume(returning: ControlReply())
    }
    waiters.removeAll { $0.condition.holds(for: statistics) }
  }

  private func endWait(_ number: UInt64) {
    guard let index = waiters.firstIndex(where: { $0.number == number }) else { return }
    let waiter = waiters.remove(at: index)
    waiter.answer.resume(returning: .refused("\(waiter.condition) did not become true"))
  }

  /// Refuses all that wait.
  func refuseWaiters() {
    for waiter in waiters {
      waiter.limit.cancel()
      waiter.answer.resume(returning: .refused("the emulator has stopped"))
    }
    waiters = []
  }
}
