/// An error as it is reported: its kind, what failed and why, and what to do about it. For all
/// errors that no code distinguishes.
package struct Failure: ClassifiedError, Hashable {
  package var kind: FailureKind
  /// One line, without the program's name; sanitised when it is printed.
  package var message: String
  /// The action for the user; empty if there is nothing to add.
  package var remedy: String

  package init(_ kind: FailureKind, _ message: String, remedy: String = "") {
    (self.kind, self.message, self.remedy) = (kind, message, remedy)
  }

  package var hint: String { remedy }
  package var description: String { remedy.isEmpty ? message : "\(message); \(remedy)" }
}
