import NotibotProtocol
import SuiteWire

/// Inputs of one part of a grammar, as whole notifications.
struct GrammarTable {
  /// Each must be stored. Each begins with `{`, after optional white space.
  var accepted: [[UInt8]] = []
  /// Each must be refused with 0x80.
  var refused: [[UInt8]] = []

  /// The four keys with their shortest values.
  static let fourKeys = Array("\"app\":\"\",\"title\":\"\",\"text\":\"\",\"timestamp\":0".utf8)

  /// A notification with additional members, which precede the four.
  static func before(_ members: [UInt8]) -> [UInt8] {
    Array("{".utf8) + members + Array(",".utf8) + fourKeys + Array("}".utf8)
  }

  /// A notification with further members, which stand behind the four: its last brace follows them.
  static func after(_ members: String) -> [UInt8] {
    Array("{".utf8) + fourKeys + Array(",\(members)}".utf8)
  }

  /// A notification with a value under a key that no rule mentions.
  static func value(_ value: some Sequence<UInt8>) -> [UInt8] { before(Array("\"x\":".utf8) + value) }

  /// The same with the value as text.
  static func value(_ value: String) -> [UInt8] { self.value(value.utf8) }

  /// A notification with these bytes between the quotes of `text`.
  static func text(_ bytes: some Sequence<UInt8>) -> [UInt8] {
    Array("{\"app\":\"\",\"title\":\"\",\"text\":\"".utf8) + bytes + Array("\",\"timestamp\":0}".utf8)
  }

  /// Notifications of at most 400 bytes that together contain all of `pieces`, so that they need
  /// few places in a store.
  static func packed(
    _ pieces: [[UInt8]], separator: String = "", _ notification: ([UInt8]) -> [UInt8]
  ) -> [[UInt8]] {
    let limit = 300
    var packs: [[UInt8]] = []
    for piece in pieces {
      if let last = packs.indices.last, packs[last].count + piece.count <= limit {
        packs[last] += Array(separator.utf8) + piece
      } else {
        packs.append(piece)
      }
    }
    return packs.map(notification)
  }
}

extension Probe {
  /// Writes a whole table and notes a finding for each notification that was refused or stored by
  /// mistake.
  ///
  /// Each accepted notification gets the identity `id` 1 of a new `src` and a new `rev`. If the
  /// keys of NTF-20 are in use the whole table takes one place in the store, which is free again at
  /// the end; otherwise the keys have no meaning.
  ///
  /// - Parameter features: those of the SYN; a connection has none.
  func expect(
    _ table: GrammarTable, features: UInt32 = 0b0011, file: String = #fileID, line: Int = #line
  ) async throws {
    try await openWide(isSession ? Self.synTLVs(nonce: makeNonce(), features: features) : nil)
    let keysInUse: Bool? = isSession ? session.features & 0b10 != 0 : nil
    try await requireStoreRoom(keysInUse == true ? 1 : table.accepted.count)
    let source = makeSource()
    let before = try await readCount(file: file, line: line)
    for input in table.refused {
      let reply = try await writeData(input, file: file, line: line)
      expect(
        reply.count == 5 && reply[0] == 0x01 && reply[4] == 0x80,
        "the answer to \(Self.show(input)) is [\(Wire.hex(reply))], expected error 0x80", file: file,
        line: line)
    }
    let between = try await readCount(file: file, line: line)
    expect("Count after \(table.refused.count) refusals", between, is: before, file: file, line: line)
    for (revision, input) in table.accepted.enumerated() {
      let json = Self.identified(input, "\"id\":1,\"rev\":\(revision),\"src\":\(source)")
      let reply = try await writeData(json, file: file, line: line)
      expect("the answer to \(Self.show(input))", reply, is: [0x13], file: file, line: line)
    }
    let after = try await readCount(file: file, line: line)
    let possible = [1, table.accepted.count].map { before + min($0, table.accepted.count) }
    let expected = keysInUse.map { [possible[$0 ? 0 : 1]] } ?? possible
    expect(
      expected.contains(after),
      "Count after \(table.accepted.count) notifications is \(after), was \(before)",
      file: file, line: line)
    if keysInUse == true || keysInUse == nil && after == possible[0] && table.accepted.count > 1 {
      try await expectWritten(Sample.removal(id: 1, more: ",\"src\":\(source)"), file: file, line: line)
    }
  }

  /// Whether the bearer is a session, not a connection.
  private var isSession: Bool {
    switch bearer {
    case .session: true
    case .connection: false
    }
  }

  /// A notification with additional members after its first brace.
  private static func identified(_ json: [UInt8], _ members: String) -> [UInt8] {
    guard let brace = json.firstIndex(of: UInt8(ascii: "{")) else { return json }
    return json[...brace] + Array((members + ",").utf8) + json[(brace + 1)...]
  }

  /// An input for a message: as text if it is text, otherwise in hexadecimal.
  private static func show(_ input: [UInt8]) -> String {
    let isPlain = input.allSatisfy { (0x20..<0x7F).contains($0) }
    return isPlain ? String(decoding: input.prefix(160), as: UTF8.self) : "[\(Wire.hex(input, limit: 160))]"
  }
}
