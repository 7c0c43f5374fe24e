// The example of README.md, kept here so that it compiles against the public API alone. scripts/check-docs compares
// the two.
// README example begins
import NotibotHost

func greet() async throws {
  try await withDevice(at: "/dev/ttyACM0") { device in
    print(await device.info.firmwareName ?? "unnamed", "holds", try await device.count())

    // Returns when the device has stored it; throws when it refused.
    try await device.send(app: "Messages", title: "Jane Doe", text: "See you tomorrow!")

    try await device.subscribe()
    for try await event in device.events {
      switch event {
      case .count(let count): print("now", count)
      case .dismissed(let item): print("dismissed", item)
      case .disconnected(let error): print(error)
      case .action, .unknown, .text, .reconnected: break
      }
    }
  }
}
// README example ends
