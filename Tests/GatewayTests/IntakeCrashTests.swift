import Foundation
import NotibotProtocol
import Testing

@Suite struct IntakeCrashTests {
  /// How many seeds run, from 1; the environment variable sets more.
  static let seedsCount = max(
    1, ProcessInfo.processInfo.environment["NOTIBOT_GATEWAY_SEEDS"].flatMap(UInt64.init) ?? 60)

  /// Runs a seed until every push is answered.
  private func world(seed: UInt64) -> IntakeCrashWorld {
    var random = SeededGenerator(seed: seed)
    // 12 pushes without a name, 12 that share three names.
    let wishes = (0..<24).map { index in
      IntakeCrashWorld.Wish(text: "\(index)", identifier: index < 12 ? nil : "n\(index % 3)")
    }
    var world = IntakeCrashWorld(wishes: wishes)
    for _ in 0..<600 { world.step(crashes: true, using: &random) }
    for _ in 0..<20_000 where !world.isDone { world.step(crashes: false, using: &random) }
    return world
  }

  @Test(arguments: 1...seedsCount)
  func `every push is shown once despite crashes, and each name is one item`(seed: UInt64) {
    let world = world(seed: seed)
    #expect(world.isDone, "seed \(seed)")
    for wish in world.wishes where wish.identifier == nil {
      #expect(world.added.count { $0 == wish.text } == 1, "seed \(seed): push \(wish.text)")
    }
    for name in ["n0", "n1", "n2"] {
      let texts = world.wishes.filter { $0.identifier == name }.map(\.text)
      #expect(world.outbox.values.count { texts.contains($0) } == 1, "seed \(seed): \(name)")
    }
  }
}
