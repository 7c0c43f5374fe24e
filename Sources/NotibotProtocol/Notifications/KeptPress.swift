/// The choice of an action, kept by the device until the host has it. Source: PROTOCOL.md NTF-39,
/// NTF-40.
package struct KeptPress: Hashable, Sendable {
  /// The number of the action.
  package var act: UInt8
  package var key: NotificationKey
  /// That of the text on the display when the person pressed.
  package var revision: UInt16
  /// Its number among the presses that this boot of the device has kept, from 1.
  package var number: UInt32

  package init(act: UInt8, key: NotificationKey, revision: UInt16, number: UInt32) {
    self.act = act
    self.key = key
    self.revision = revision
    self.number = number
  }

  /// Reads ACTION.
  init(parsing payload: [UInt8]) throws(WireError) {
    guard let source = payload.littleEndian(at: 2, as: UInt32.self),
      let id = payload.littleEndian(at: 6, as: UInt32.self),
      let revision = payload.littleEndian(at: 10, as: UInt16.self),
      let number = payload.littleEndian(at: 12, as: UInt32.self)
    else { throw WireError.tooShort(expectedBytes: 16, actualBytes: payload.count) }
    guard source != 0 else { throw WireError.badField(name: "src", value: 0) }
    guard id != 0 else { throw WireError.badField(name: "id", value: 0) }
    guard number != 0 else { throw WireError.badField(name: "press", value: 0) }
    self.init(
      act: payload[1], key: NotificationKey(source: source, id: id), revision: revision, number: number)
  }
}
