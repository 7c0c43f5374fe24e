import NotibotProtocol
import Testing

@testable import DeviceEmulator

struct NotificationStoreTests {
  private let sample = Array(sampleJSON.utf8)

  private func makeStore(capacity: Int = 100, policy: StorePolicy = .refuseWhenFull) -> NotificationStore {
    NotificationStore(capacity: capacity, policy: policy)
  }

  @Test func `notifications are numbered from 1 in the order of acceptance`() {
    var store = makeStore()
    #expect(store.write(sample) == .stored(item: 1))
    guard case .invalid = store.write([0x7B]) else { return #expect(Bool(false), "half an object was taken") }
    #expect(store.write(sample) == .stored(item: 2))
    #expect(store.items.map(\.item) == [1, 2])
  }

  @Test func `a number is not assigned twice`() {
    var store = makeStore(capacity: 1)
    _ = store.write(sample)
    #expect(store.write(sample) == .full)
    #expect(store.dismiss(item: 1) == true)
    #expect(store.write(sample) == .stored(item: 2))
    store.removeAll()
    #expect(store.write(sample) == .stored(item: 3))
  }

  @Test func `a store is read page by page, even if items are gone`() {
    var store = makeStore()
    for _ in 0..<5 { _ = store.write(sample) }
    _ = store.dismiss(item: 3)
    #expect(store.items(from: 0, limit: 2).map(\.item) == [1, 2])
    #expect(store.items(from: 3, limit: 2).map(\.item) == [4, 5])
    #expect(store.items(from: 5, limit: 2).map(\.item) == [5])
    #expect(store.items(from: 6, limit: 2) == [])
    #expect(store.items(from: .max, limit: 2) == [])
  }

  @Test func `dismissing finds each one exactly once`() {
    var store = makeStore()
    for _ in 0..<20 { _ = store.write(sample) }
    for item in [20, 1, 10, 11, 9] {
      #expect(store.dismiss(item: item) == true)
      #expect(store.dismiss(item: item) == false)
    }
    #expect(store.count == 15)
    #expect(store.dismiss(item: 0) == false)
    #expect(store.dismiss(item: 21) == false)
    #expect(store.dismiss(item: .max) == false)
    #expect(store.dismiss(item: .min) == false)
  }

  @Test(arguments: [(65_533, UInt16(65_534)), (65_534, 65_535), (65_535, 65_535), (1_000_000, 65_535)])
  func `the count stops at 65535`(others: Int, expected: UInt16) {
    var store = makeStore()
    store.setOtherWritersCount(others)
    _ = store.write(sample)
    #expect(store.count == expected)
    #expect(store.storedCount == others + 1)
  }

  @Test func `the count falls below 65535 again when enough are dismissed`() {
    var store = makeStore()
    for _ in 0..<3 { _ = store.write(sample) }
    store.setOtherWritersCount(65_533)
    #expect(store.count == 65_535)
    _ = store.dismiss(item: 1)
    #expect(store.count == 65_535)
    _ = store.dismiss(item: 2)
    #expect(store.count == 65_534)
  }

  @Test func `a store that only remembers counts every one and keeps the last`() {
    var store = makeStore(capacity: 65_535, policy: .remember(kept: 3))
    for _ in 0..<70_000 { _ = store.write(sample) }
    #expect(store.items.map(\.item) == [69_998, 69_999, 70_000])
    #expect(store.storedCount == 70_000)
    #expect(store.count == 65_535)
    #expect(store.dismiss(item: 1) == false)
  }

  /// Each is refused with 0x80. Source: PROTOCOL.md NTF-2 to NTF-4.
  private static let hostile: [(String, String)] = [
    ("nothing", ""), ("text", "hello"), ("an array", "[]"), ("null", "null"),
    ("half an object", #"{"app":"a","title":"b","text":"c","timestamp":1"#),
    ("something after it", sampleJSON + "x"), ("a second object", sampleJSON + "{}"),
    ("a byte order mark", "\u{FEFF}" + sampleJSON),
    ("a key missing", #"{"app":"a","title":"b","text":"c"}"#),
    ("app a number", #"{"app":1,"title":"b","text":"c","timestamp":1}"#),
    ("text null", #"{"app":"a","title":"b","text":null,"timestamp":1}"#),
    ("timestamp a string", #"{"app":"a","title":"b","text":"c","timestamp":"1"}"#),
    ("timestamp negative", #"{"app":"a","title":"b","text":"c","timestamp":-1}"#),
    ("timestamp a fraction", #"{"app":"a","title":"b","text":"c","timestamp":1.0}"#),
    ("timestamp an exponent", #"{"app":"a","title":"b","text":"c","timestamp":1e3}"#),
    ("timestamp beyond u32", #"{"app":"a","title":"b","text":"c","timestamp":4294967296}"#),
    ("a key twice", #"{"app":"a","app":"a","title":"b","text":"c","timestamp":1}"#),
    ("a key twice, escaped", #"{"app":"a","\u0061pp":"a","title":"b","text":"c","timestamp":1}"#),
    ("an unknown key twice", #"{"x":1,"x":1,"app":"a","title":"b","text":"c","timestamp":1}"#),
    ("half a surrogate pair", #"{"app":"\ud800","title":"b","text":"c","timestamp":1}"#),
    ("U+0000", #"{"app":"\u0000","title":"b","text":"c","timestamp":1}"#),
    ("a bare control", "{\"app\":\"\u{1}\",\"title\":\"b\",\"text\":\"c\",\"timestamp\":1}"),
    ("9 deep", #"{"x":[[[[[[[[1]]]]]]]],"app":"a","title":"b","text":"c","timestamp":1}"#),
    (
      "app of 65 bytes",
      #"{"app":"\#(String(repeating: "a", count: 65))","title":"","text":"","timestamp":1}"#
    ),
    (
      "title of 129 bytes",
      #"{"app":"","title":"\#(String(repeating: "a", count: 129))","text":"","timestamp":1}"#
    ),
    ("250 deep", String(repeating: "[", count: 250) + String(repeating: "]", count: 250)),
  ]

  @Test(arguments: hostile)
  func `an invalid notification is refused and the count unchanged`(name: String, json: String) {
    var rig = ATTRig()
    _ = rig.write(sampleJSON.utf8)
    #expect(rig.write(json.utf8) == "0112060080", "\(name)")
    #expect(rig.ask("0a 0300") == "0b0100")
  }

  @Test(arguments: [
    [UInt8(0xFF)], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82],
  ])
  func `invalid UTF-8 is refused`(bad: [UInt8]) {
    var store = makeStore()
    let json = Array(#"{"app":""#.utf8) + bad + Array(#"","title":"","text":"","timestamp":1}"#.utf8)
    guard case .invalid = store.write(json) else { return #expect(Bool(false), "\(bad) was taken") }
    #expect(store.count == 0)
  }

  @Test(arguments: [
    #"{"timestamp":4294967295,"text":"","title":"","app":""}"#,
    #" { "app" : "a" , "title" : "b" , "text" : "c" , "timestamp" : 0 } "#,
    #"{"app":"a","title":"b","text":"c","timestamp":1,"id":7,"x":[{"y":[null,true,-1.5e3]}]}"#,
    #"{"app":"\ud83d\ude00","title":"\u00e9\n","text":"\/","timestamp":1}"#,
    #"{"x":[[[[[[[1]]]]]]],"app":"a","title":"b","text":"c","timestamp":1}"#,
  ])
  func `an unusual but valid notification is stored unchanged`(json: String) {
    var store = makeStore()
    #expect(store.write(Array(json.utf8)) == .stored(item: 1))
    #expect(store.items.first?.json == Array(json.utf8))
  }
}
