/// What runs of the suite on hundreds of faulty devices have shown: in which order its cases find a
/// fault early, and which cases a fault fails. Measured by `scripts/dev mutants --matrix`.
package struct FaultMatrix: Sendable {
  /// A fault, and what failed on a device with it.
  package struct Fault: Sendable {
    /// The case of the rule that it breaks.
    package let caseID: String
    /// What the device does wrong, as in "accepts 513 bytes".
    package let what: String
    let failing: Set<String>
  }

  private struct Entry {
    var rank: Int
    var milliseconds: Int
    var isQuick: Bool
  }

  package static let measured = FaultMatrix(
    parsing: String(decoding: PackageResources.faults_tsv, as: UTF8.self))

  private var entries: [String: Entry] = [:]
  /// Those that fail several cases.
  var faults: [Fault] = []
  /// How many faults fail a case.
  private var frequencies: [String: Int] = [:]

  /// - Parameter text: a line per case of a device, in the order of a run: its id, its milliseconds
  ///   over a pseudo-terminal, `q` if it is one of `--quick`. Then one per fault: the case of its
  ///   rule, what is wrong, and the numbers of the cases that fail. Other lines are ignored.
  init(parsing text: String) {
    var ids: [String] = []
    for line in text.split(separator: "\n") {
      let columns = line.split(separator: "\t")
      if columns.count == 3 {
        let numbers = columns[2].split(separator: ",").compactMap { Int($0) }
        let failing = Set(numbers.compactMap { ids.indices.contains($0) ? ids[$0] : nil })
        faults.append(Fault(caseID: String(columns[0]), what: String(columns[1]), failing: failing))
        for id in failing { frequencies[id, default: 0] += 1 }
      } else {
        let words = line.split(separator: " ")
        guard words.count > 1, let milliseconds = Int(words[1]) else { continue }
        entries[String(words[0])] = Entry(
          rank: ids.count, milliseconds: milliseconds, isQuick: words.last == "q")
        ids.append(String(words[0]))
      }
    }
  }

  // MARK: Order

  /// The cases of `--quick`: of a device, those that detect most of the faults in some seconds.
  package func quick(_ cases: [Case]) -> [Case] { cases.filter { entries[$0.id]?.isQuick == true } }

  /// The order in which they find faults early; with several devices the longest first, which would
  /// otherwise be waited for at the end.
  package func ordered(_ cases: [Case], devices: Int) -> [Case] {
    func key(_ testCase: Case) -> (Int, Int) {
      guard let entry = entries[testCase.id] else { return (0, .max) }
      return (devices > 1 && entry.milliseconds > 1000 ? -entry.milliseconds : 0, entry.rank)
    }
    return cases.map { (key($0), $0) }.sorted { $0.0 < $1.0 }.map(\.1)
  }

  // MARK: Causes

  /// Cases with the faults that they can be about.
  package struct Diagnosis: Sendable {
    /// In the order in which to read them, the most specific first.
    package var caseIDs: [String]
    /// Known faults that fail nearly the same cases, the most similar first: several if they cannot
    /// be distinguished.
    package var faults: [Fault]
    /// The case of the first fault, if it was not run.
    package var missing: String?
  }

  /// Similarity of two sets of failing cases from which a fault counts as known, 0...1.
  private static let leastSimilarity = 0.4
  /// Faults whose similarities differ by less cannot be distinguished.
  private static let leastDifference = 0.03
  private static let faultsLimit = 3

  /// What failed cases are about.
  ///
  /// - Parameters:
  ///   - failed: ids, in the suite's order.
  ///   - run: the ids of all cases that were run.
  package func diagnosis(of failed: [String], run: Set<String>) -> Diagnosis {
    var ids = failed.enumerated().sorted { (rarity($0.element), $0.offset) < (rarity($1.element), $1.offset) }
      .map(\.element)
    // A walk does many things: it says little of what is wrong.
    ids = ids.filter { !Self.isWalk($0) } + ids.filter(Self.isWalk)
    let faults = known(Set(failed), run)
    guard let fault = faults.first else { return Diagnosis(caseIDs: ids, faults: []) }
    // Of several faults that look alike the case that is about most of them; of one its own case.
    let scores = failed.map { id in
      faults.count { Self.rules[$0.caseID]?.isDisjoint(with: Self.rules[id] ?? []) == false } * 2
        + (faults.count == 1 && id == fault.caseID ? 1 : 0)
    }
    let best = scores.max() ?? 0
    let first = scores.firstIndex { $0 == best && best > 0 }.map { failed[$0] }
    let index = first.flatMap(ids.firstIndex(of:))
    if let index { ids.insert(ids.remove(at: index), at: 0) }
    return Diagnosis(
      caseIDs: ids, faults: faults, missing: run.contains(fault.caseID) ? nil : fault.caseID)
  }

  private static let rules = Dictionary(Suite.cases.map { ($0.id, Set($0.rules)) }) { first, _ in first }

  /// Lower is more specific. Of a case that was not measured nothing is known.
  private func rarity(_ id: String) -> Int { frequencies[id] ?? (entries[id] == nil ? .max : 0) }

  private static func isWalk(_ id: String) -> Bool { id.contains("random-walk") }

  /// The faults whose failing cases are most like these: common to both, of those in either, where
  /// a case counts more the fewer faults fail it.
  private func known(_ failed: Set<String>, _ run: Set<String>) -> [Fault] {
    guard failed.count > 1 else { return [] }
    // Whole numbers: the sum of a set does not depend on its order.
    func weight(_ ids: some Sequence<String>) -> Double {
      Double(ids.reduce(0) { $0 + Int(1_000_000 / Double(max(1, rarity($1))).squareRoot()) })
    }
    let similar: [(similarity: Double, fault: Fault)] = faults.map { fault in
      let expected = fault.failing.intersection(run)
      let common = expected.intersection(failed)
      return (common.isEmpty ? 0 : weight(common) / weight(expected.union(failed)), fault)
    }
    let best = similar.map(\.similarity).max() ?? 0
    guard best >= Self.leastSimilarity else { return [] }
    let near = similar.filter { $0.similarity > best - Self.leastDifference }
    return near.sorted { $0.similarity > $1.similarity }.prefix(Self.faultsLimit).map(\.fault)
  }
}
