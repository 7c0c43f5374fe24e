public import ArgumentParser
import Foundation
public import NotibotProtocol

/// The labels of a notification's buttons, as an option with commas between them.
struct ActionLabels: ExpressibleByArgument {
  let labels: [String]
  /// As it was given.
  private(set) var text = ""

  init(labels: [String]) { self.labels = labels }

  /// `nil` unless they are 1 to 4 different ones of 1 to 24 bytes.
  init?(argument: String) {
    text = argument
    labels = argument.split(separator: ",", omittingEmptySubsequences: false).map {
      $0.trimmingCharacters(in: .whitespaces)
    }
    guard (1...NotificationLimits.actions).contains(labels.count), Set(labels).count == labels.count,
      labels.allSatisfy({ (1...NotificationLimits.actionBytes).contains($0.utf8.count) })
    else { return nil }
  }

  var defaultValueDescription: String { labels.joined(separator: ",") }
}

extension NotificationDetails.Level: ExpressibleByArgument {
  /// The level with this name.
  public init?(argument: String) { self.init(name: argument) }
  /// Their names.
  public static var allValueStrings: [String] { allCases.map(\.name) }
}
