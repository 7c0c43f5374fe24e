package import NotibotProtocol

/// How the server of a Bluetooth stack answers unlike the device's own one. Source: PROTOCOL.md
/// section 3, what is marked with †.
package struct ServerTraits: Equatable, Sendable {
  /// How a PDU of a wrong length is answered.
  package enum Malformed: Equatable, Sendable {
    case refused
    /// Not at all.
    case dropped
  }

  /// How Execute Write treats the parts of several handles.
  package enum Execution: Equatable, Sendable {
    /// Everything is checked first, CCCDs are written last.
    case atOnce
    /// Each handle on its own, in the order of the first parts.
    case inTurn
  }

  // MARK: ATT-8, ATT-12

  package var changesMTUAgain = false
  /// The answer to a CCCD value with other bits than those of its characteristic; nil: taken.
  package var refusedCCCD: ATTError? = .cccdImproperlyConfigured

  // MARK: ATT-9, ATT-10

  /// Whether the last group of all ends at FFFF, and that of a characteristic's declaration at the
  /// end of the characteristic.
  package var hasOpenGroups = false
  /// The answer to Read By Group Type of 0x2801.
  package var secondaryServices = ATTError.unsupportedGroupType
  /// Whether a type is found by its 16-byte form.
  package var findsLongForms = true
  /// Whether Read Blob of a declaration returns all of it.
  package var ignoresOffsetOfDeclarations = false

  // MARK: ATT-14

  package var execution = Execution.atOnce
  /// Whether Execute Write flags other than 0 and 1 count as 1.
  package var executesAnyFlag = false

  // MARK: ATT-15, ATT-16

  package var executesWriteCommands = false
  package var answersReadMultiple = false
  package var confirmsIndications = false
  package var malformed = Malformed.refused
  /// Whether bytes behind a Read Request are ignored. ATT-1.
  package var readsBeyondRequest = false

  // MARK: The application above the stack

  /// Whether it sends the notifications that a write causes from within the handler of the write,
  /// against ATT-18.
  package var notifiesInsideWrite = false

  /// The device's own server.
  package static let own = ServerTraits()

  /// NimBLE's host of August 2026, as measured.
  package static let nimble = {
    var traits = ServerTraits()
    traits.changesMTUAgain = true
    traits.refusedCCCD = .requestNotSupported
    traits.hasOpenGroups = true
    traits.secondaryServices = .attributeNotFound
    traits.findsLongForms = false
    traits.ignoresOffsetOfDeclarations = true
    traits.execution = .inTurn
    traits.executesAnyFlag = true
    traits.executesWriteCommands = true
    traits.answersReadMultiple = true
    traits.confirmsIndications = true
    traits.malformed = .dropped
    traits.readsBeyondRequest = true
    return traits
  }()

  /// Bluedroid, from public documentation only: open groups, permissions that do not distinguish
  /// Write Command from Write Request, descriptors whose values only the application checks.
  package static let bluedroid = {
    var traits = ServerTraits()
    traits.refusedCCCD = nil
    traits.hasOpenGroups = true
    traits.execution = .inTurn
    traits.executesWriteCommands = true
    traits.answersReadMultiple = true
    traits.confirmsIndications = true
    return traits
  }()

  /// A request as the server reads it.
  func normalised(_ request: [UInt8]) -> [UInt8] {
    switch ATTOpcode(rawValue: request[0]) {
    case .readRequest where readsBeyondRequest: Array(request.prefix(3))
    case .executeWriteRequest where executesAnyFlag && request.count == 2 && request[1] > 1:
      [request[0], ATTPDU.ExecuteFlag.write.rawValue]
    default: request
    }
  }
}

/// The attributes of a bearer, and the traits of their server.
struct ServerModel: Equatable, Sendable {
  var table: AttributeTable
  var traits: ServerTraits

  /// Handles from 1, the device's own server.
  static let own = ServerModel(table: AttributeTable(), traits: .own)
}
