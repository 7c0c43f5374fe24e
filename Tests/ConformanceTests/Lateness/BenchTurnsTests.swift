import Testing

@testable import Conformance

/// How many cases run at once on one computer.
@Suite struct BenchTurnsTests {
  @Test func `any number run at once until one is late, then half of them`() async {
    let turns = BenchTurns()
    var running: [BenchTurns.Turn] = []
    for _ in 1...8 { running.append(await turns.begin(alone: false)) }
    #expect(await turns.limit == nil)
    await turns.end(running.removeFirst(), isLate: true)
    #expect(await turns.limit == 4)
    // Those that began before are of the same overload.
    while let turn = running.popLast() { await turns.end(turn, isLate: true) }
    #expect(await turns.limit == 4)
  }

  @Test func `a late run that was the only one limits nothing`() async {
    let turns = BenchTurns()
    await turns.end(await turns.begin(alone: false), isLate: true)
    await turns.end(await turns.begin(alone: true), isLate: true)
    #expect(await turns.limit == nil)
  }

  @Test func `one more runs at once after as many calm runs as the limit`() async {
    let turns = BenchTurns()
    let (first, second) = (await turns.begin(alone: false), await turns.begin(alone: false))
    await turns.end(first, isLate: true)
    await turns.end(second, isLate: false)
    #expect(await turns.limit == 1)
    await turns.end(await turns.begin(alone: false), isLate: false)
    #expect(await turns.limit == 2)
    for _ in 1...2 {
      #expect(await turns.limit == 2)
      await turns.end(await turns.begin(alone: false), isLate: false)
    }
    #expect(await turns.limit == 3)
  }

  @Test func `next to a run there is no room for a repetition, nor for anything next to that`() async {
    let turns = BenchTurns()
    let first = await turns.begin(alone: false)
    #expect(await turns.hasRoom(false))
    #expect(await !turns.hasRoom(true))
    await turns.end(first, isLate: false)
    let repetition = await turns.begin(alone: true)
    #expect(await !turns.hasRoom(false))
    #expect(await !turns.hasRoom(true))
    await turns.end(repetition, isLate: false)
    #expect(await turns.hasRoom(true))
  }

  @Test func `those who wait all get their turn, repetitions alone`() async {
    let turns = BenchTurns()
    let first = await turns.begin(alone: false)
    let others = await withTaskGroup(of: Int?.self) { group in
      for index in 0..<9 {
        group.addTask {
          let isAlone = index % 3 == 0
          let turn = await turns.begin(alone: isAlone)
          let others = await turns.running - 1
          await turns.end(turn, isLate: false)
          return isAlone ? others : nil
        }
      }
      await turns.end(first, isLate: false)
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(others.count == 9)
    #expect(others.compactMap(\.self) == [0, 0, 0])
  }
}
