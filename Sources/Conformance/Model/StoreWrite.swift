/// A write of Data with what it means, known because the writer made it so; nothing here parses JSON.
enum StoreWrite: Sendable {
  /// What a notification says, as far as the store cares.
  struct Draft: Sendable {
    var json: [UInt8]
    var revision = 0
    var level = 1
    var expires: UInt64?
    /// The key `src` of the JSON; nil without it.
    var source: UInt32?
  }

  /// Refused with this code, whatever the store holds.
  case refused([UInt8], code: UInt8)
  /// Without identity.
  case plain(Draft)
  /// `source` is the key of that name; nil without it.
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
