import NotibotProtocol

/// Writes a value that is too long for one Write Request: prepared in parts, then executed.
///
/// States: *preparing* each part → *executing*; an error in a part → *cancelling*, which empties
/// the queue. Source: PROTOCOL.md ATT-14.
struct LongWrite: Equatable, Sendable {
  enum Progress: Equatable {
    /// `request` is the next one.
    case more
    case finished(HostResult)
    /// The answer does not fit the request.
    case malformed
  }

  private enum State: Equatable {
    case preparing(offset: Int)
    case executing
    case cancelling(ATTError)
  }

  /// Opcode, handle and offset of a Prepare Write.
  private static let partOverheadBytes = 5

  private let handle: UInt16
  private let value: [UInt8]
  private let partLimitBytes: Int
  private var state = State.preparing(offset: 0)

  /// - Parameter mtu: of the bearer, 23 or more.
  init(handle: UInt16, value: [UInt8], mtu: Int) {
    self.handle = handle
    self.value = value
    partLimitBytes = mtu - Self.partOverheadBytes
  }

  /// The request that awaits its answer.
  var request: ATTPDU {
    switch state {
    case .preparing(let offset):
      .prepareWriteRequest(handle: handle, offset: UInt16(offset), value: part(at: offset))
    case .executing: .executeWriteRequest(.write)
    case .cancelling: .executeWriteRequest(.cancel)
    }
  }

  /// Takes the answer to `request`: a response of its kind, or an Error Response.
  mutating func receive(_ answer: ATTPDU) -> Progress {
    switch (state, answer) {
    case (.preparing(let offset), .prepareWriteResponse):
      let part = part(at: offset)
      guard answer == .prepareWriteResponse(handle: handle, offset: UInt16(offset), value: part) else {
        return .malformed
      }
      let next = offset + part.count
      state = next < value.count ? .preparing(offset: next) : .executing
      return .more
    case (.preparing, .errorResponse(_, _, let error)):
      state = .cancelling(error)
      return .more
    case (.executing, .executeWriteResponse): return .finished(.accepted)
    case (.executing, .errorResponse(_, _, let error)): return .finished(.refused(error))
    case (.cancelling(let error), .executeWriteResponse), (.cancelling(let error), .errorResponse):
      return .finished(.refused(error))
    case _: return .malformed
    }
  }

  private func part(at offset: Int) -> [UInt8] {
    Array(value[offset..<min(offset + partLimitBytes, value.count)])
  }
}
