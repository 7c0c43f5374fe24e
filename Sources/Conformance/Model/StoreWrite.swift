/// A write of Data with its meaning, which is known by construction; nothing here parses JSON.
enum StoreWrite: Sendable {
  /// The fields of a notification that affect the store.
  struct Draft: Sendable {
    var json: [UInt8]
    var revision = 0
    var level = 1
    var expires: UInt64?
    /// The key `src` of the JSON; nil if missing.
    var source: UInt32?
  }

  /// Refused with this code, whatever the content of the store.
  case refused([UInt8], code: UInt8)
  /// Without identity.
  case plain(Draft)
  /// `source` is the key of that name; nil if missing.
  case identified(Draft, id: UInt32, source: UInt32?)
  case removal([UInt8], id: UInt32, source: UInt32?)

  var json: [UInt8] {
    switch self {
    case .refused(let json, _): json
    case .plain(let draft), .identified(let draft, _, _): draft.json
    case .removal(let json, _, _): json
    }
  }
}
