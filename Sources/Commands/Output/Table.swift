/// A text table.
enum Table {
  private static let leastColumns = 8

  /// The rows, of which the first has the column heads, with columns as wide as their widest cell
  /// and no trailing spaces. Cells must be safe to print.
  ///
  /// - Parameter columns: the width of the table, to which its widest columns are cut, each to
  ///   `leastColumns` at least; nil: any.
  static func text(_ rows: [[String]], columns: Int? = nil) -> String {
    let indices = rows.first?.indices ?? 0..<0
    var widths = indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    if let columns {
      let room = columns - 2 * (widths.count - 1)
      var widest = min(columns, widths.max() ?? 0)
      while widest > leastColumns, widths.reduce(0, { $0 + min($1, widest) }) > room { widest -= 1 }
      widths = widths.map { min($0, widest) }
    }
    return rows.map { row in
      let cells = zip(row, widths).map { cell, width in
        let shown = cell.count > width ? cell.prefix(width - 1) + "…" : cell[...]
        return shown + String(repeating: " ", count: width - shown.count)
      }
      return String(cells.joined(separator: "  ").reversed().drop { $0 == " " }.reversed())
    }.joined(separator: "\n")
  }
}
