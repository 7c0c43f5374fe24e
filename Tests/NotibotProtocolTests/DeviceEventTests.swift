import NotibotProtocol
import Testing

struct DeviceEventTests {
  static let key = NotificationKey(source: 0xC0FF_EE01, id: 7)

  @Test(
    arguments: [
      (#"{"ev":"dismissed","item":17}"#, .dismissed(item: 17)),
      (#"{"ev":"action","item":17,"act":2}"#, .action(item: 17, act: 2)),
      (#"{"item":4294967295,"more":[1],"ev":"dismissed"}"#, .dismissed(item: .max)),
      (#"{"ev":"dismissed","item":3,"id":7,"src":3237998081}"#, .gone(.dismissed, key, item: 3)),
      (#"{"ev":"dismissed","id":7,"src":3237998081}"#, .gone(.dismissed, key, item: 0)),
      (#"{"ev":"evicted","item":3,"id":7,"src":3237998081}"#, .gone(.evicted, key, item: 3)),
      (#" { "src" : 3237998081, "id" : 7, "x":{}, "ev":"exp\u0069red" } "#, .gone(.expired, key, item: 0)),
      (
        #"{"ev":"action","item":3,"act":0,"id":7,"src":3237998081}"#,
        .actionOf(key, item: 3, act: 0, revision: nil)
      ),
      (#"{"ev":"action","act":4,"id":7,"src":3237998081}"#, .actionOf(key, item: 0, act: 4, revision: nil)),
      (
        #"{"ev":"action","item":3,"act":0,"id":7,"src":3237998081,"rev":1}"#,
        .actionOf(key, item: 3, act: 0, revision: 1)
      ),
      (
        #"{"rev":65535,"ev":"action","act":0,"id":7,"src":3237998081}"#,
        .actionOf(key, item: 0, act: 0, revision: .max)
      ),
      (
        #"{"ev":"action","act":0,"id":7,"src":3237998081,"rev":65536}"#,
        .actionOf(key, item: 0, act: 0, revision: nil)
      ),
      (
        #"{"ev":"action","act":0,"id":7,"src":3237998081,"rev":"1"}"#,
        .actionOf(key, item: 0, act: 0, revision: nil)
      ),
      (#"{"ev":"action","item":3,"act":0,"rev":1}"#, .action(item: 3, act: 0)),
      (
        #"{"ev":"dismissed","id":4294967295,"src":4294967295,"act":1}"#,
        .gone(.dismissed, NotificationKey(source: .max, id: .max), item: 0)
      ),
    ] as [(String, DeviceEvent)])
  func `is read`(json: String, event: DeviceEvent) {
    #expect(DeviceEvent(parsing: Array(json.utf8)) == event)
  }

  @Test func `is written byte for byte`() {
    #expect(DeviceEvent.dismissed(item: 17).encoded() == Array(#"{"ev":"dismissed","item":17}"#.utf8))
    #expect(
      DeviceEvent.action(item: 17, act: 2).encoded() == Array(#"{"ev":"action","item":17,"act":2}"#.utf8))
  }

  @Test(
    arguments: [
      (.gone(.dismissed, key, item: 3), #"{"ev":"dismissed","item":3,"id":7,"src":3237998081}"#),
      (.gone(.evicted, key, item: 0), #"{"ev":"evicted","id":7,"src":3237998081}"#),
      (.gone(.expired, key, item: .max), #"{"ev":"expired","item":4294967295,"id":7,"src":3237998081}"#),
      (
        .actionOf(key, item: 3, act: 2, revision: nil),
        #"{"ev":"action","item":3,"act":2,"id":7,"src":3237998081}"#
      ),
      (.actionOf(key, item: 0, act: 0, revision: nil), #"{"ev":"action","act":0,"id":7,"src":3237998081}"#),
      (
        .actionOf(key, item: 3, act: 2, revision: 0),
        #"{"ev":"action","item":3,"act":2,"id":7,"src":3237998081,"rev":0}"#
      ),
    ] as [(DeviceEvent, String)])
  func `one with an identity is written byte for byte`(event: DeviceEvent, json: String) {
    #expect(event.encoded() == Array(json.utf8))
  }

  /// On a plain device keys of these names can have another meaning (NTF-11).
  @Test(arguments: [
    #""id":7"#, #""src":7"#, #""id":"seven","src":7"#, #""id":7,"src":null"#, #""id":0,"src":7"#,
    #""id":7,"src":0"#,
    #""id":-1,"src":7"#, #""id":4294967296,"src":7"#, #""id":1.5,"src":[7]"#, #""id":{"a":1},"src":1e3"#,
  ])
  func `without a complete identity it is an event of the item`(members: String) {
    let dismissed = #"{"ev":"dismissed","item":17,\#(members)}"#
    #expect(DeviceEvent(parsing: Array(dismissed.utf8)) == .dismissed(item: 17))
    let action = #"{"ev":"action",\#(members),"item":17,"act":2}"#
    #expect(DeviceEvent(parsing: Array(action.utf8)) == .action(item: 17, act: 2))
    let gone = #"{"ev":"evicted","item":17,\#(members)}"#
    #expect(DeviceEvent(parsing: Array(gone.utf8)) == .unknown(Array(gone.utf8)))
  }

  @Test(arguments: [
    #"{"ev":"expired","item":17}"#, #"{"ev":"dismissed"}"#, #"{"ev":"action","item":17}"#, "{", "",
    #"{"ev":"dismissed","item":1.5}"#, #"{"ev":1,"item":1}"#, #"{"ev":"dismissed","item":1,"item":2}"#,
    #"{"ev":"gone","id":7,"src":7}"#, #"{"ev":"action","id":7,"src":7}"#, #"{"id":7,"src":7}"#,
    #"{"ev":"dismissed","id":7,"src":7,"id":7}"#, #"{"ev":"dismissed","id":7,"src":07}"#,
    #"{"ev":"dismissed","item":1,"id":tru,"src":7}"#, #"{"ev":"evicted","item":-1,"id":7,"src":7}"#,
  ])
  func `an unreadable event is passed on unchanged`(json: String) {
    #expect(DeviceEvent(parsing: Array(json.utf8)) == .unknown(Array(json.utf8)))
    #expect(DeviceEvent(parsing: Array(json.utf8)).encoded() == Array(json.utf8))
  }
}
