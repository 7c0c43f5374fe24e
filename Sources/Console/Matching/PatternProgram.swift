import SerialLink

/// An expression compiled to instructions, and the machine that follows all threads through a text
/// in parallel. Source: R. Cox, "Regular Expression Matching: the Virtual Machine Approach" (2009),
/// Pike's machine.
struct PatternProgram: Equatable, Sendable {
  /// Instructions in a program, at most, with counted repetitions unrolled. With a line of 4096
  /// bytes: at most 4 million steps.
  static let instructionsLimit = 1000

  enum Instruction: Equatable, Sendable {
    case consume(ScalarSet)
    case assert(PatternAssertion)
    case jump(Int)
    /// The first branch is preferred.
    case split(Int, Int)
    case match
  }

  private(set) var instructions: [Instruction] = []

  init(_ node: PatternNode) throws(Failure) {
    try append(node)
    try append(.match)
  }

  // MARK: Compiling

  private mutating func append(_ instruction: Instruction) throws(Failure) {
    guard instructions.count < Self.instructionsLimit else {
      throw Pattern.failure("it repeats too much, or is too long", at: 1)
    }
    instructions.append(instruction)
  }

  private mutating func append(_ node: PatternNode) throws(Failure) {
    switch node {
    case .empty: break
    case .set(let set): try append(.consume(set))
    case .assertion(let assertion): try append(.assert(assertion))
    case .sequence(let nodes): for node in nodes { try append(node) }
    case .alternatives(let nodes):
      var exits: [Int] = []
      for node in nodes.dropLast() {
        let split = instructions.count
        try append(.jump(split))
        try append(node)
        exits.append(instructions.count)
        try append(.jump(0))
        instructions[split] = .split(split + 1, instructions.count)
      }
      if let last = nodes.last { try append(last) }
      for exit in exits { instructions[exit] = .jump(instructions.count) }
    case .repeated(let node, let least, let limit, let isLazy):
      for _ in 0..<least {
        let before = instructions.count
        try append(node)
        // A repetition of nothing is nothing; the counts of nested groups multiply.
        if instructions.count == before { return }
      }
      guard let limit else { return try appendLoop(node, isLazy: isLazy) }
      var splits: [Int] = []
      for _ in least..<max(least, limit) {
        splits.append(instructions.count)
        try append(.jump(0))
        try append(node)
      }
      for split in splits { instructions[split] = way(into: split + 1, around: instructions.count, isLazy) }
    }
  }

  private mutating func appendLoop(_ node: PatternNode, isLazy: Bool) throws(Failure) {
    let split = instructions.count
    try append(.jump(0))
    try append(node)
    try append(.jump(split))
    instructions[split] = way(into: split + 1, around: instructions.count, isLazy)
  }

  private func way(into: Int, around: Int, _ isLazy: Bool) -> Instruction {
    isLazy ? .split(around, into) : .split(into, around)
  }

  // MARK: Matching

  /// The threads alive at a position, the preferred one first, without duplicates.
  private struct Ways {
    var all: [(instruction: Int, start: Int)] = []
    private var seenAt: [Int]
    private var stack: [Int] = []

    init(count: Int) {
      seenAt = Array(repeating: -1, count: count)
    }

    /// Adds the thread at `first`, advanced to where it consumes a scalar or has matched.
    mutating func add(
      _ first: Int, start: Int, at index: Int, in text: [Unicode.Scalar], isWhole: Bool,
      _ instructions: [Instruction]
    ) {
      stack.append(first)
      while let next = stack.popLast() {
        guard seenAt[next] != index else { continue }
        seenAt[next] = index
        switch instructions[next] {
        case .jump(let target): stack.append(target)
        case .split(let preferred, let other):
          stack.append(other)
          stack.append(preferred)
        case .assert(let assertion):
          if assertion.holds(at: index, in: text, isWhole: isWhole) { stack.append(next + 1) }
        case .consume, .match: all.append((next, start))
        }
      }
    }
  }

  /// The range of the first match; `isWhole`: see `Pattern.firstMatch`.
  func firstMatch(in text: [Unicode.Scalar], isWhole: Bool = true) -> Range<Int>? {
    var current = Ways(count: instructions.count)
    var next = Ways(count: instructions.count)
    var found: Range<Int>?
    for index in 0...text.count {
      // Once a match is found, later starts are not considered.
      if found == nil {
        current.add(0, start: index, at: index, in: text, isWhole: isWhole, instructions)
      }
      if current.all.isEmpty, found != nil { return found }
      next.all.removeAll(keepingCapacity: true)
      ways: for way in current.all {
        switch instructions[way.instruction] {
        case .consume(let set):
          guard index < text.count, set.contains(text[index]) else { continue }
          next.add(
            way.instruction + 1, start: way.start, at: index + 1, in: text, isWhole: isWhole, instructions)
        case .match:
          found = way.start..<index
          // The threads after it are less preferred.
          break ways
        case .assert, .jump, .split: continue
        }
      }
      swap(&current, &next)
    }
    return found
  }
}
