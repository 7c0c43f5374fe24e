public import ArgumentParser
import Foundation
public import NotibotProtocol
import SerialLink

/// The labels of a notification's buttons, as an option with commas between them.
struct ActionLabels: ExpressibleByArgument {
  let labels: [String]
  /// As it was given.
  private(set) var text = ""

  init(labels: [String]) { self.labels = labels }

  /// Any labels: `check` has the reason for a refusal, which the parser would not show.
  init(argument: String) {
    text = argument
    labels = argument.split(separator: ",", omittingEmptySubsequences: false).map {
      $0.trimmingCharacters(in: .whitespaces)
    }
  }

  /// Throws `ValidationError` unless they are 1 to 4 different ones of 1 to 24 bytes.
  func check() throws {
    let (count, bytes) = (NotificationLimits.actions, NotificationLimits.actionBytes)
    let problem =
      if labels.contains("") {
        "a label is empty"
      } else if let label = labels.first(where: { $0.utf8.count > bytes }) {
        "'\(label.printable)' has more than \(bytes) bytes"
      } else if let label = labels.first(where: { label in labels.count { $0 == label } > 1 }) {
        "'\(label.printable)' is there twice"
      } else {
        labels.count > count ? "there are more than \(count) labels" : ""
      }
    if !problem.isEmpty { throw ValidationError("--actions '\(text.printable)': \(problem)") }
  }

  var defaultValueDescription: String { labels.joined(separator: ",") }
}

extension NotificationDetails.Level: ExpressibleByArgument {
  /// The level with this name.
  public init?(argument: String) { self.init(name: argument) }
  /// Their names.
  public static var allValueStrings: [String] { allCases.map(\.name) }
}
