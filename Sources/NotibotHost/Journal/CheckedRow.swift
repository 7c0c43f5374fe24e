import Foundation
import GRDB
import SerialLink

extension Failure {
  /// A row is invalid.
  init(row: String, column: String) {
    self.init(.unfitEnvironment, "\(row) has no valid '\(column)'")
  }

  /// The rows differ from those that were written. `kind`: what they are, in the plural.
  init(kind: String, found: Int64, expected: Int64) {
    self.init(
      .unfitEnvironment,
      found == expected
        ? "not all of its \(expected) \(kind) are as the last commit left them"
        : "it has \(found) \(kind) where it should have \(expected)")
  }
}

/// A row whose columns are checked as they are read: another program or a bad disk can have changed
/// them.
struct CheckedRow {
  let values: [DatabaseValue]
  /// How messages name it.
  let name: String

  /// A missing column is NULL.
  private func storage(_ index: Int) -> DatabaseValue.Storage {
    values.indices.contains(index) ? values[index].storage : .null
  }

  func bad(_ column: String) -> Failure {
    Failure(row: name, column: column)
  }

  func isNull(_ index: Int) -> Bool { storage(index) == .null }

  func number<Value: FixedWidthInteger>(
    _ index: Int, _ name: String, in range: ClosedRange<Value> = Value.min...Value.max
  ) throws -> Value {
    guard case .int64(let stored) = storage(index),
      let value = Value(exactly: stored), range.contains(value)
    else { throw bad(name) }
    return value
  }

  func text(_ index: Int, _ name: String) throws -> String {
    guard case .string(let text) = storage(index) else { throw bad(name) }
    return text
  }

  /// An empty blob is NULL in SQLite.
  func bytes(_ index: Int, _ name: String) throws -> [UInt8] {
    guard case .blob(let data) = storage(index) else { throw bad(name) }
    return [UInt8](data)
  }

  func write(from index: Int, _ name: String) throws -> OutboxWrite {
    let json: [UInt8]
    switch storage(index + 2) {
    case .blob(let data): json = [UInt8](data)
    case .string(let text): json = Array(text.utf8)
    // SQLite stores an empty blob as NULL.
    case .null: json = []
    case .int64, .double: throw bad(name)
    }
    return OutboxWrite(
      id: try number(index, "id"), revision: try number(index + 1, "rev"), json: json)
  }

  func actions(_ index: Int, _ name: String) throws -> [String] {
    if isNull(index) { return [] }
    let text = try text(index, name)
    guard let actions = try? JSONDecoder().decode([String].self, from: Data(text.utf8)) else {
      throw bad(name)
    }
    return actions
  }
}
