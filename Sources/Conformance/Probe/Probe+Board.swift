import Glibc
import NotibotProtocol
import SuiteWire

/// A device that stays the same from case to case, and that only its line reaches: a board on a
/// desk. Every case finds the notifications that earlier cases and other writers have left.
extension Probe {
  /// The number of writers that are tried before a device counts as one that forgets none.
  private static let writersLimit = 1024
  /// When `expiring` notifications expire, in seconds since 1970-01-01 UTC.
  private static let expiringEnd = Sample.noon + 1000

  /// Opens a bearer as `openWide`, on a board so that `expiring` notifications can expire: with the
  /// keys of NTF-20 in use, if the device has them, and with a time.
  package func openForExpiring() async throws {
    guard footprint != nil, case .session = bearer else { return try await openWide() }
    try await openWide(Self.synTLVs(nonce: makeNonce(), features: 0b0011) + [.clock(Sample.noon)])
  }

  /// A notification without an identity, which a host cannot remove: if possible it expires when
  /// the case is over (NTF-27), and leaves its place in the store to the next case.
  package func expiring(_ json: [UInt8]) -> [UInt8] {
    guard footprint != nil, session.features & 0b0010 != 0, let brace = json.firstIndex(of: UInt8(ascii: "{"))
    else { return json }
    footprint?.hasExpiring = true
    return json[...brace] + Array("\"exp\":\(Self.expiringEnd),".utf8) + json[(brace + 1)...]
  }

  /// Opens a bearer on which identities can be written; returns false if the device has none.
  ///
  /// - Parameter clock: the time for the device, in seconds since 1970-01-01 UTC.
  private func openForIdentities(clock: UInt64? = nil) async throws -> Bool {
    switch bearer {
    case .session:
      let tlvs = Self.synTLVs(nonce: makeNonce(), features: Self.deliveryFeatures)
      try await openWide(tlvs + (clock.map { [.clock($0)] } ?? []))
      return session.features & 0b0010 != 0
    case .connection:
      try await openWide()
      return true
    }
  }

  /// Removes notifications with an identity, and the pending reports about them (NTF-24); lets
  /// those without one expire; corrects the time that a case has set.
  package func remove(_ footprint: Footprint, now: UInt64) async throws {
    if footprint.hasExpiring, try await openForIdentities(clock: Self.expiringEnd) {
      // Time for a device that looks at its clock when it is asked.
      _ = try await readCount()
    }
    guard try await openForIdentities(clock: footprint.hasSetClock ? now : nil) else { return }
    for (source, ids) in footprint.identities {
      for id in ids { try await writeData(Sample.removal(id: id, more: ",\"src\":\(source)")) }
    }
  }

  /// Makes a device forget the writers that it knows (NTF-22), unless its store is empty: otherwise
  /// they would be forgotten in the middle of a case, and Count would decrease without a fault of
  /// the device.
  ///
  /// New writers are added, each with one notification that it removes at once, until the device
  /// has forgotten one of them.
  /// - Throws: a finding if the device does not answer; `CaseEnd.skip` if it accepts no long write.
  package func pushOutOtherWriters() async throws {
    guard try await openForIdentities(), try await readCount() > 0 else { return }
    var written: [UInt32] = []
    while written.count < Self.writersLimit {
      let source = makeSource()
      let key = ",\"src\":\(source)"
      guard try await writeData(Sample.json(id: 1, more: key)) == [0x13] else { return }
      try await writeData(Sample.removal(id: 1, more: key))
      written.append(source)
      // 4, 8, 16 …: checking a writer makes it the latest, so each time another one is checked.
      guard written.count >= 4, written.count & (written.count - 1) == 0 else { continue }
      if try await isForgotten(written[written.count.trailingZeroBitCount]) { return }
    }
  }

  /// Writes id 1 of a writer again and removes it. It is stored only if the writer was forgotten.
  private func isForgotten(_ source: UInt32) async throws -> Bool {
    let key = ",\"src\":\(source)"
    let before = try await readCount()
    try await writeData(Sample.json(id: 1, more: key))
    let after = try await readCount()
    try await writeData(Sample.removal(id: 1, more: key))
    return after > before
  }
}

extension Bench {
  /// The time of a device in virtual time.
  private static let virtualNow: UInt64 = 1_700_000_000

  /// Removes the notifications of the case, as far as they can be named, so that the next case does
  /// not find them.
  package func tidyUp() async {
    guard let left = probe.footprint, left.hasSetClock || !left.identities.isEmpty else { return }
    let tidier = Probe(line: probe.line, role: .host, record: Record(), seed: seed)
    tidier.bearer = probe.bearer
    tidier.handles = probe.handles
    tidier.identities = probe.identities
    do {
      try await tidier.remove(left, now: hasVirtualTime ? Self.virtualNow : UInt64(max(0, time(nil))))
      try await tidier.write(tidier.frame(.fin))
    } catch {
      // The next case meets the same line and device, and judges them.
      record.add("the notifications of the case cannot be removed: \(error)", at: probe.now)
    }
  }
}
