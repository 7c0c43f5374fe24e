import NotibotProtocol

/// Draws random writes: valid ones, and ones that no host should send.
struct WriteDrawer {
  var random: SeededGenerator
  /// The longest text, so that a write fits in the parts of a narrow device.
  let textLimit: Int

  mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

  mutating func chance(_ percent: Int) -> Bool { number(1...100) <= percent }

  mutating func pick<Element>(_ elements: [Element]) -> Element? { elements.randomElement(using: &random) }

  /// A notification with these keys; its text and the keys that do not affect the store are drawn.
  mutating func draft(
    id: UInt32?, revision: Int = 0, level: Int?, expires: UInt64?, source: UInt32?, event: String? = nil
  ) -> StoreWrite.Draft {
    var members = [("id", id.map { "\($0)" }), ("rev", revision == 0 ? nil : "\(revision)")]
    members.append(("ev", event.map { "\"\($0)\"" }))
    members.append(("lvl", level.map { "\($0)" }))
    if textLimit > 20, chance(20) {
      members.append(("cat", "\(number(0...255))"))
      members.append(("grp", "\"\(String(repeating: "g", count: number(0...16)))\""))
      members.append(("act", pick(["[]", "[\"Yes\"]", "[\"a\",\"b\",\"c\",\"d\"]"])))
    }
    members.append(("exp", expires.map { "\($0)" }))
    if textLimit > 20, chance(20) { members.append(("fl", "\(number(0...255))")) }
    members.append(("src", source.map { "\($0)" }))
    if chance(10) { members.shuffle(using: &random) }
    return StoreWrite.Draft(
      json: json(members), revision: revision, level: level ?? 1, expires: expires, source: source)
  }

  /// The same with the same length and another timestamp.
  mutating func altered(_ draft: StoreWrite.Draft) -> StoreWrite.Draft {
    var draft = draft
    let key = Array("\"timestamp\":".utf8)
    guard let start = draft.json.indices.first(where: { draft.json[$0...].starts(with: key) }) else {
      return draft
    }
    draft.json[start + key.count] ^= 1
    return draft
  }

  /// A removal (NTF-24).
  mutating func removal(id: UInt32, source: UInt32?) -> StoreWrite {
    let revision = chance(20) ? "\(number(0...65535))" : nil
    let members = [
      ("id", "\(id)"), ("rev", revision), ("ev", "\"r\""), ("src", source.map { "\($0)" }),
    ]
    return .removal(json(members), id: id, source: source)
  }

  /// A write that must be refused, with an id that would be stored.
  mutating func refused(id: UInt32, source: UInt32?) -> StoreWrite {
    if textLimit > 20, chance(10) { return .refused(Sample.json(length: number(513...514)), code: 0x0D) }
    let bad = [
      ",\"lvl\":4", ",\"rev\":65536", ",\"ev\":\"x\"", ",\"exp\":4294967296", ",\"fl\":256", ",\"cat\":-1",
      ",\"id\":1", ",\"app\":\"\"", ",\"lvl\":\"1\"", ",\"rev\":1.0", ",", ",\"x\":\"\\u0000\"", ",\"x\":tru",
      ",\"grp\":\"ggggggggggggggggg\"", ",\"act\":[1]", ",\"act\":[\"\",\"\",\"\",\"\",\"\"]", "}",
    ]
    let good = json([("id", "\(id)"), ("src", source.map { "\($0)" })])
    switch number(1...8) {
    case 1: return .refused(Array(good.dropLast()), code: 0x80)
    case 2: return .refused(json([("rev", "1")]), code: 0x80)
    case 3: return .refused(json([("id", "0"), ("src", "1")]), code: 0x80)
    case 4: return .refused(json([("id", "\(id)"), ("src", "0")]), code: 0x80)
    case 5: return .refused(json([("ev", pick(["\"r\"", "\"m\""]))]), code: 0x80)
    case _: return .refused(good.dropLast() + Array("\(pick(bad) ?? "")}".utf8), code: 0x80)
    }
  }

  private mutating func json(_ members: [(String, String?)]) -> [UInt8] {
    let text = String(repeating: pick(["x", "y", "é"]) ?? "", count: number(0...textLimit))
    var all = "{\"app\":\"w\",\"title\":\"\",\"text\":\"\(text)\",\"timestamp\":\(number(0...9))"
    for case (let key, let value?) in members { all += ",\"\(key)\":\(value)" }
    return Array((all + (chance(5) ? " }" : "}")).utf8)
  }
}
