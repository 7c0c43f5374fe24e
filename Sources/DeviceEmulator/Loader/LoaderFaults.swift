package import SerialLink

/// Faults of flashing: what a loader, its flash or its supply does wrong. One line of text, such as
/// `md5,checksum@3+,unplug@12`; `off` for none.
package struct LoaderFaults: Equatable, Sendable {
  /// Which blocks of data, or sectors, a fault hits; counted from 1 since the faults were set.
  package struct Place: Equatable, Sendable {
    package var number: UInt64
    /// Whether it hits all later ones as well.
    package var isLasting = false

    func hits(_ count: UInt64) -> Bool { count == number || isLasting && count > number }
  }

  /// Faults that are on or off.
  package enum Condition: String, Equatable, Sendable, CaseIterable {
    /// The loader answers nothing.
    case noSync = "no-sync"
    /// IO0 stays high: every reset boots the application.
    case bootMode = "boot-mode"
    /// The digest in the answer to MD5 is wrong.
    case md5
    /// The block protection bits of the flash are set.
    case writeProtect = "write-protect"
  }

  /// Faults at a place.
  package enum Event: String, Equatable, Sendable, CaseIterable {
    /// The answer to a data block is missing.
    case silent
    /// A data block is answered with a checksum error.
    case checksum
    /// The plug is pulled when a data block arrives; the chip has its supply from there.
    case unplug
    /// The supply fails while a sector is erased, and is back at once.
    case powerLoss = "power-loss"
  }

  /// The longest text.
  package static let lengthLimitBytes = 256

  package var conditions: [Condition] = []
  package var events: [Event: Place] = [:]

  package init() {}

  package static let off = LoaderFaults()

  func has(_ condition: Condition) -> Bool { conditions.contains(condition) }

  func hits(_ event: Event, _ count: UInt64) -> Bool { events[event]?.hits(count) ?? false }
}

extension LoaderFaults: CustomStringConvertible {
  /// What `parsing` accepts, for help and errors.
  package static let forms =
    (Condition.allCases.map(\.rawValue) + Event.allCases.map { "\($0.rawValue)@N[+]" }).joined(
      separator: ", ")

  /// Parses a spec.
  /// - Throws: `Failure` for the first invalid part.
  package init(parsing text: String) throws(Failure) {
    self.init()
    if text == "off" { return }
    guard text.utf8.count <= Self.lengthLimitBytes else {
      throw Failure(inFaults: text, "longer than \(Self.lengthLimitBytes) bytes")
    }
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let pieces = part.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
      if pieces.count == 1, let condition = Condition(rawValue: String(part)), !has(condition) {
        conditions.append(condition)
        continue
      }
      guard pieces.count == 2, let event = Event(rawValue: String(pieces[0])), events[event] == nil else {
        throw Failure(inFaults: part, "a fault of flashing is one of \(Self.forms), each once")
      }
      let isLasting = pieces[1].hasSuffix("+")
      guard let number = UInt64(isLasting ? pieces[1].dropLast() : pieces[1]), number > 0 else {
        throw Failure(inFaults: part, "N is a number from 1 on")
      }
      events[event] = Place(number: number, isLasting: isLasting)
    }
  }

  package var description: String {
    let places = Event.allCases.compactMap { event in
      events[event].map { "\(event.rawValue)@\($0.number)\($0.isLasting ? "+" : "")" }
    }
    let parts = conditions.map(\.rawValue) + places
    return parts.isEmpty ? "off" : parts.joined(separator: ",")
  }
}
