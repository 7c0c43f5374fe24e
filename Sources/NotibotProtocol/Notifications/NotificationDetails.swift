/// The optional details of a notification, for a device that supports them. Source: PROTOCOL.md
/// NTF-20.
public struct NotificationDetails: Hashable, Sendable {
  /// The interruption level of a notification. Source: PROTOCOL.md NTF-20.
  public enum Level: UInt8, Hashable, Comparable, Sendable, CaseIterable {
    /// Shown without drawing attention.
    case passive = 0
    /// The default.
    case active = 1
    /// Needs attention now.
    case timeSensitive = 2
    /// Must not be missed.
    case critical = 3

    /// The spelling in options, files, Apple's pushes and on the screen.
    package var name: String {
      switch self {
      case .passive: "passive"
      case .active: "active"
      case .timeSensitive: "time-sensitive"
      case .critical: "critical"
      }
    }

    /// The level with this ``name``; `nil` if there is none.
    package init?(name: String) {
      guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
      self = level
    }

    /// The order of NTF-20: passive, active, time-sensitive, critical.
    public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }

  /// The level; the default is `active`.
  public var level = Level.active
  /// Numbered as in Apple's ANCS, 0: other.
  public var category: UInt8 = 0
  /// The group that it is shown in, at most 16 bytes; empty: none.
  public var group = ""
  /// Labels of its actions, at most 4 of at most 24 bytes.
  public var actions: [String] = []
  /// Seconds since 1970-01-01 UTC when it expires; `nil`: never.
  public var expires: UInt32?
  /// Bit 0 silent, bit 1 important.
  public var flags: UInt8 = 0

  /// Details with their defaults.
  public init() {}
}

/// The notification that a write concerns, and the operation. Source: PROTOCOL.md NTF-20 to NTF-24.
package struct NotificationIdentity: Hashable, Sendable {
  /// `ev`.
  package enum Change: Hashable, Sendable, CaseIterable {
    case added
    case modified
    case removed

    /// The spelling in the JSON.
    package var name: String {
      switch self {
      case .added: "a"
      case .modified: "m"
      case .removed: "r"
      }
    }
  }

  /// From 1.
  package var id: UInt32
  package var revision: UInt16
  package var change: Change
  /// The key `src`; `nil`: that of the session.
  package var source: UInt32?

  package init(id: UInt32, revision: UInt16 = 0, change: Change = .added, source: UInt32? = nil) {
    self.id = id
    self.revision = revision
    self.change = change
    self.source = source
  }
}
