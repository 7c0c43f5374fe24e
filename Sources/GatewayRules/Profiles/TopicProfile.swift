package import NotibotProtocol

/// What the pushes of a topic mean on a display.
package struct TopicProfile: Hashable, Sendable {
  /// The name of an item: a prefix and the value of a field of the payload.
  package struct Identifier: Hashable, Sendable {
    package var prefix: String
    /// A path of keys.
    package var field: String
  }

  /// A field that an answer repeats: without one that is not optional there are no actions, because
  /// the sender could not attribute them.
  package struct Field: Hashable, Sendable {
    /// A path of keys.
    package var path: String
    package var isOptional: Bool

    /// Reads a path, with `?` behind it if it is optional.
    init(_ text: String) {
      isOptional = text.hasSuffix("?")
      path = isOptional ? String(text.dropLast()) : text
    }
  }

  /// How a category is shown.
  package struct Category: Hashable, Sendable {
    package var level: NotificationDetails.Level?
    package var actions: [String] = []
    /// What the actions mean, in their order. Not together with `actions`.
    package var answers: [Answer] = []
    /// A callback of the configuration.
    package var callback: String?
    /// Fields of the payload that an answer repeats.
    package var fields: [Field] = []
    /// The answer that a dismissal is; nil: none.
    package var dismissal: Answer?
    package var isSilent = false
    package var identifier: Identifier?
    package var defaultTitle: String?
    package var defaultText: String?
    /// Characters.
    package var textLimit: Int?
    /// The text of one more item for a group with three or more items of this category; `{count}`
    /// and `{group}` are replaced.
    package var summary: String?
  }

  /// Where a Live Activity's state has what is shown.
  package struct ActivityFields: Hashable, Sendable {
    package var title = "status"
    package var completed = "todoProgress.completed"
    package var total = "todoProgress.total"
    package var task = "todoProgress.currentTask"
    package var operation = "currentOperation"
  }

  package var name: String
  /// Topics without the suffix of a push type; empty: the default profile.
  package var topics: [String] = []
  /// The name of the app on the display.
  package var app: String
  package var categories: [String: Category] = [:]
  /// Values of the payload's key `type` that stand for a category.
  package var types: [String: String] = [:]
  /// Where the group is if there is no `thread-id`.
  package var groupFields: [String] = []
  /// Where the name of the group is, for summaries; if there is none, the group is its name.
  package var groupNames: [String] = []
  /// Fields whose value names an item to remove.
  package var clears: [Identifier] = []
  package var activity = ActivityFields()
  /// Seconds after which an item leaves the display.
  package var lifetimeSeconds: Int64?
  package var oncePerDay = false
  /// Whether an item of a group that the user dismisses, or presses although it asks nothing, takes
  /// the others of the group with it.
  package var isReadTogether = false
  package var allowsCritical = false

  package init(name: String, app: String) {
    self.name = name
    self.app = app
  }

  /// The profile of a topic: its own, else the one without topics, else a plain one. If it has no
  /// name of an app, that is the last part of the topic.
  package static func of(topic: String, in profiles: [TopicProfile]) -> TopicProfile {
    var profile =
      profiles.first { $0.topics.contains(topic) } ?? profiles.first { $0.topics.isEmpty }
      ?? TopicProfile(name: "default", app: "")
    if profile.app.isEmpty { profile.app = String(topic.split(separator: ".").last ?? "push") }
    return profile
  }
}
