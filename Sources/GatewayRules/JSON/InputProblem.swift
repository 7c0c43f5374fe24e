/// Why a file is not a profile or a configuration, a text not JSON, or a request not valid.
package struct InputProblem: Error, Hashable, Sendable, CustomStringConvertible {
  package var description: String

  package init(_ description: String) { self.description = description }

  /// `offset`: counted from 0.
  init(_ reason: String, at offset: Int) { self.init("\(reason) (at byte \(offset + 1))") }
}
