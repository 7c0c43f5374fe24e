import Testing

@testable import Conformance

/// What the measured faults say about others.
@Suite struct FaultMatrixTests {
  private let matrix = FaultMatrix(
    parsing: """
      FRM-1/zeros 5 q
      LNK-2/long 2000 q
      ATT-3/random-walk 10
      NTF-4/rare 3000
      not a line
      FRM-1/zeros\tshares zeros\t0,1,2
      LNK-2/long\tis slow\t1,2,99
      """)

  private func testCase(_ id: String) -> Case { Case(id, "Is a test", chapter: .att) { _, _ in } }

  @Test func `one device begins with what finds faults early, several with the longest`() {
    let cases = ["NTF-4/rare", "NTF-9/unknown", "LNK-2/long", "FRM-1/zeros"].map(testCase)
    #expect(
      matrix.ordered(cases, devices: 1).map(\.id) == [
        "FRM-1/zeros", "LNK-2/long", "NTF-4/rare", "NTF-9/unknown",
      ])
    #expect(
      matrix.ordered(cases, devices: 2).map(\.id) == [
        "NTF-4/rare", "LNK-2/long", "FRM-1/zeros", "NTF-9/unknown",
      ])
    #expect(matrix.quick(cases).map(\.id) == ["LNK-2/long", "FRM-1/zeros"])
  }

  @Test func `a diagnosis begins with the case of a similar fault, else the rarest, and never a walk`() {
    let run: Set = ["FRM-1/zeros", "LNK-2/long", "ATT-3/random-walk", "NTF-4/rare"]
    let known = matrix.diagnosis(of: ["ATT-3/random-walk", "LNK-2/long"], run: run)
    #expect(known.caseIDs == ["LNK-2/long", "ATT-3/random-walk"] && known.faults.map(\.what) == ["is slow"])
    let unknown = matrix.diagnosis(of: ["ATT-3/random-walk", "NTF-9/unknown", "NTF-4/rare"], run: run)
    #expect(
      unknown.caseIDs == ["NTF-4/rare", "NTF-9/unknown", "ATT-3/random-walk"] && unknown.faults.isEmpty)
    #expect(matrix.diagnosis(of: [], run: run).caseIDs.isEmpty)
  }

  /// Each fault as one that nobody has seen before.
  @Test func `a fault that is not in the matrix is named by a case of its rule`() {
    let measured = FaultMatrix.measured
    let run = Set(Suite.cases.map(\.id))
    let rules = Dictionary(uniqueKeysWithValues: Suite.cases.map { ($0.id, Set($0.rules)) })
    let named = measured.faults.indices.count { index in
      var others = measured
      let fault = others.faults.remove(at: index)
      let failed = Suite.cases.map(\.id).filter(fault.failing.contains)
      let first = others.diagnosis(of: failed, run: run).caseIDs.first.flatMap { rules[$0] } ?? []
      return !first.isDisjoint(with: rules[fault.caseID] ?? [])
    }
    print("named right: \(named) of \(measured.faults.count) faults")
    #expect(named * 100 >= measured.faults.count * 85)
  }

  @Test func `each case of the matrix is one of the suite`() {
    #expect(FaultMatrix.measured.quick(Suite.cases).count > 100)
  }
}
