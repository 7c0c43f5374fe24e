// The examples of README.md and of the library's documentation, kept here so that they compile as a
// client's code: this target has no access to the declarations of the package.
// scripts/dev check-docs compares them.
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
      default: break  // a later version can have more events
      }
    }
  }
}
// README example ends

// GettingStarted.md example begins
func notifyAndWait() async throws {
  try await withDevice(at: "auto") { device in
    try await device.send(app: "Messages", title: "Jane Doe", text: "See you tomorrow!")
    try await device.subscribe()
    for try await event in device.events {
      if case .dismissed = event { return }
    }
  }
}
// GettingStarted.md example ends

// ExactlyOnce.md example begins
import NotibotHost
import NotibotProtocol

func ring() async throws {
  try await withForwarder(port: "auto", outbox: "/var/lib/doorbell/outbox") { forwarder in
    let bell = DisplayNotification(app: "Door", title: "Bell", text: "Ring", timestamp: 1_764_000_000)
    _ = try await forwarder.submit(bell)
    try await forwarder.finish()
  }
}
// ExactlyOnce.md example ends

// ExactlyOnce.md, keys example begins
func pass(on message: DisplayNotification, identifier: String, to forwarder: Forwarder) async throws {
  guard let key = IdempotencyKey(identifier) else { return }
  let accepted = try await forwarder.submit(message, key: key)
  if accepted.hasKeyConflict { print("\(identifier) had other content before") }
}
// ExactlyOnce.md, keys example ends
