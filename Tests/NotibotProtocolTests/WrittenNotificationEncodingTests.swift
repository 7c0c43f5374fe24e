import NotibotProtocol
import Testing

/// Encoding the keys of NTF-20, and the cuts that make room for them.
struct WrittenNotificationEncodingTests {
  static func details(
    level: NotificationDetails.Level = .active, category: UInt8 = 0, group: String = "",
    actions: [String] = [],
    expires: UInt32? = nil, flags: UInt8 = 0
  ) -> NotificationDetails {
    var details = NotificationDetails()
    details.level = level
    details.category = category
    details.group = group
    details.actions = actions
    details.expires = expires
    details.flags = flags
    return details
  }

  /// A notification with three short fields.
  static func short(
    _ details: NotificationDetails = NotificationDetails(), _ identity: NotificationIdentity? = nil
  ) -> WrittenNotification {
    WrittenNotification(
      notification: DisplayNotification(app: "a", title: "b", text: "c", timestamp: 1, details: details),
      identity: identity)
  }

  static let four = #"{"app":"a","title":"b","text":"c","timestamp":1"#

  @Test(
    arguments: [
      (short(), ""),
      (short(details(), NotificationIdentity(id: 1)), #","id":1"#),
      (
        short(
          details(
            level: .critical, category: 255, group: "g", actions: ["x", "y"], expires: 0, flags: 3),
          NotificationIdentity(id: .max, revision: .max, change: .modified, source: .max)),
        #","id":4294967295,"rev":65535,"ev":"m","lvl":3,"cat":255,"grp":"g","act":["x","y"],"exp":0,"fl":3,"#
          + #""src":4294967295"#
      ),
      (short(details(level: .passive)), #","lvl":0"#),
      (
        short(details(), NotificationIdentity(id: 9, change: .removed, source: 5)),
        #","id":9,"ev":"r","src":5"#
      ),
      (short(details(), NotificationIdentity(id: 9, revision: 1)), #","id":9,"rev":1"#),
      (short(details(group: "\"\\\n\u{1}é")), #","grp":"\"\\\n\u0001é""#),
      (short(details(actions: [""])), #","act":[""]"#),
      (short(details(actions: ["a\tb", "\u{1F600}"])), #","act":["a\tb","😀"]"#),
    ])
  func `keys are in the order of the table, and those with default values are omitted`(
    written: WrittenNotification, members: String
  ) {
    var bytes: [UInt8] = [0x12]
    #expect(written.encode(into: &bytes) == .nothing)
    #expect(bytes == [0x12] + Array((Self.four + members + "}").utf8))
    #expect(written.encoded() == Array((Self.four + members + "}").utf8))
  }

  @Test func `a removal contains only its id`() {
    #expect(
      WrittenNotification.removal(of: 7).encoded()
        == Array(#"{"app":"","title":"","text":"","timestamp":0,"id":7,"ev":"r"}"#.utf8))
  }

  @Test(
    arguments: [
      ("sixteen letters!", "sixteen letters!", false), ("seventeen letters", "seventeen let…", true),
      ("👨‍👩‍👧👨‍👩‍👧", "…", true), ("🇩🇪🇩🇪🇩🇪", "🇩🇪…", true),
      ("e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}", "e\u{301}e\u{301}e\u{301}e\u{301}…", true),
      ("\"\"\"\"\"\"\"\"", #"\"\"\"\"\"\"\"\""#, false), ("\"\"\"\"\"\"\"\"\"", #"\"\"\"\"\"\"…"#, true),
      ("\u{1}\u{2}\u{3}", #"\u0001\u0002…"#, true), ("\0\0\0", "\u{FFFD}\u{FFFD}…", true),
    ])
  func `grp is cut to 16 bytes of the JSON at whole characters`(group: String, shown: String, isCut: Bool) {
    var bytes: [UInt8] = []
    let cut = Self.short(Self.details(group: group)).encode(into: &bytes)
    #expect(bytes == Array((Self.four + #","grp":"\#(shown)"}"#).utf8))
    #expect((cut == .fields) == isCut)
  }

  @Test func `labels are cut to 24 bytes of the JSON, and there are four of them`() {
    let labels = [
      "twenty-four letters here", "twenty-five letters here.", "👍🏽👍🏽👍🏽👍🏽", #"say "yes" to everything"#, "5",
    ]
    var bytes: [UInt8] = []
    #expect(Self.short(Self.details(actions: labels)).encode(into: &bytes) == .fields)
    let shown =
      #","act":["twenty-four letters here","twenty-five letters h…","👍🏽👍🏽…","say \"yes\" to everyt…"]}"#
    #expect(String(decoding: bytes, as: UTF8.self) == Self.four + shown)
    bytes = []
    #expect(Self.short(Self.details(actions: Array(labels[...0]))).encode(into: &bytes) == .nothing)
    bytes = []
    #expect(
      Self.short(Self.details(actions: ["1", "2", "3", "4", "5"])).encode(into: &bytes) == .fields)
    #expect(bytes == Array((Self.four + #","act":["1","2","3","4"]}"#).utf8))
  }

  @Test func `text is cut for the optional keys, byte for byte`() {
    let written = { (length: Int) in
      WrittenNotification(
        notification: DisplayNotification(
          app: "a", title: "b", text: String(repeating: "x", count: length), timestamp: 1),
        identity: NotificationIdentity(id: 1_000_000))
    }
    // 60 bytes are all but the text.
    var bytes: [UInt8] = []
    #expect(written(452).encode(into: &bytes) == .nothing)
    #expect(bytes.count == 512)
    bytes = []
    #expect(written(453).encode(into: &bytes) == .fields)
    let text = String(repeating: "x", count: 449) + "…"
    #expect(
      bytes == Array(#"{"app":"a","title":"b","text":"\#(text)","timestamp":1,"id":1000000}"#.utf8))
  }

  /// The longest of everything: what is left of 512 bytes is app's, and each of the other two keeps
  /// its ellipsis.
  @Test(arguments: ["\u{1}", "\"", "x", "é", "👨‍👩‍👧", "\0"])
  func `the longest of everything fits`(character: String) throws {
    let long = { (bytes: Int) in String(repeating: character, count: max(1, bytes / character.utf8.count)) }
    let written = WrittenNotification(
      notification: DisplayNotification(
        app: long(64), title: long(128), text: long(600), timestamp: .max,
        details: Self.details(
          level: .critical, category: 255, group: long(16), actions: Array(repeating: long(24), count: 4),
          expires: .max, flags: 255)),
      identity: NotificationIdentity(id: .max, revision: .max, change: .modified, source: .max))
    let json = written.encoded()
    #expect(json.count <= 512)
    #expect(json.count > 500)
    let read = try WrittenNotification(parsing: json, keys: .all)
    #expect(read.identity == written.identity)
    #expect(read.notification.details.actions.count == 4)
    #expect(read.notification.details.expires == .max)
  }

  @Test func `64 control characters in app are cut last`() {
    let controls = { (count: Int) in String(repeating: "\u{1}", count: count) }
    let written = WrittenNotification(
      notification: DisplayNotification(
        app: controls(64), title: controls(128), text: "x", timestamp: .max,
        details: Self.details(
          level: .critical, category: 255, group: "sixteen letters!",
          actions: Array(repeating: "twenty-four letters here", count: 4), expires: .max, flags: 255)),
      identity: NotificationIdentity(id: .max, revision: .max, change: .modified, source: .max))
    let labels = Array(repeating: #""twenty-four letters here""#, count: 4).joined(separator: ",")
    // 52 bytes around the four, 239 of optional keys, two ellipses: 215 are left, 35 controls and
    // an ellipsis.
    let app = String(repeating: #"\u0001"#, count: 35) + "…"
    let expected =
      #"{"app":"\#(app)","title":"…","text":"…","timestamp":4294967295,"id":4294967295,"rev":65535,"ev":"m","#
      + #""lvl":3,"cat":255,"grp":"sixteen letters!","act":[\#(labels)],"exp":4294967295,"fl":255,"src":4294967295}"#
    #expect(String(decoding: written.encoded(), as: UTF8.self) == expected)
    #expect(expected.utf8.count <= 512)
  }

  @Test(arguments: [81, 82, 83] as [UInt64])
  func `an encoded notification fits and is parsed back`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let random = { (limit: Int) in
      NotificationCutTests.random(Int.random(in: 0...limit, using: &generator), using: &generator)
    }
    for round in 0..<700 {
      let details = Self.details(
        level: .timeSensitive, group: random(8), actions: (0..<(round % 6)).map { _ in random(8) },
        expires: round % 2 == 0 ? nil : UInt32(round))
      let written = WrittenNotification(
        notification: DisplayNotification(
          app: random(12), title: random(40), text: random(120), timestamp: 5, details: details),
        identity: NotificationIdentity(id: UInt32(round + 1), revision: UInt16(round)))
      var json: [UInt8] = []
      let cut = written.encode(into: &json)
      #expect(json.count <= 512, "seed \(seed) round \(round)")
      let read = try WrittenNotification(parsing: json, keys: .all)
      #expect((cut == .nothing) == (read == written), "seed \(seed) round \(round)")
      #expect(read.identity == written.identity)
      #expect(NotificationCutTests.isWholeBeginning(read.notification.details.group, of: details.group))
      for (short, long) in zip(read.notification.details.actions, details.actions) {
        #expect(NotificationCutTests.isWholeBeginning(short, of: long), "seed \(seed): \(short) of \(long)")
      }
    }
  }
}
