/// Random bursts of frames, compared with a model of the link.
extension Suite {
  static let linkWalks = chapter(.link) {
    Case(
      "LNK-20/random-walk-of-bursts",
      "The device answers random bursts of valid and invalid frames according to the rules",
      also: [
        "LNK-2", "LNK-3", "LNK-12", "LNK-13", "LNK-14", "LNK-16", "LNK-19", "LNK-23", "LNK-24", "LNK-30",
        "LNK-31", "LNK-32", "LNK-33", "LNK-34", "LNK-35", "LNK-40", "LNK-41", "LNK-42", "LNK-43", "LNK-44",
        "LNK-50", "LNK-51", "LNK-52", "LNK-53",
      ],
      needs: [.virtualTime]
    ) { _, bench in
      try await LinkWalk.run(on: bench, steps: 4000)
    }
  }
}
