/// The examples in the help of the commands. A test parses each of them.
enum Examples {
  /// Command lines without the program's name, each with its purpose.
  static let all: [String: [(line: String, purpose: String)]] = [
    "": [
      ("devices", "the boards of this computer"), ("test -p emu:", "a first try, without a board"),
      ("flash build --then-test", "a build of ESP-IDF, tested on the board"),
    ],
    "send": [
      ("send 'Build done'", "to the only board that is connected"),
      ("send --app CI --title main - < result.txt", "with the text from a file"),
      (
        "send 'Deploy?' --level time-sensitive --actions Yes,No",
        "with buttons; 'notibot watch' shows presses"
      ),
      ("send -p emu: --file messages.ndjson", "one document per line, to an emulated board"),
    ],
    "count": [("count -p /dev/ttyACM0", "of the board at this port")],
    "watch": [("watch --json", "each change as a line of JSON")],
    "monitor": [
      ("monitor --elf build/app.elf", "with function names behind addresses"),
      ("monitor --reset --until 'Returned from app_main' --timeout 30", "one boot, for a script"),
      ("monitor --filter '*:W wifi:D' --save raw.log", "warnings, and everything of one tag"),
    ],
    "forward": [("forward --outbox outbox.sqlite", "lines of JSON from standard input, each exactly once")],
    "ask": [("ask --title 'Deploy?' --actions Yes,No", "exit code 0 for Yes, 1 for No")],
    "share": [("share -p /dev/ttyACM0", "other commands then use -p share:")],
    "outbox": [("outbox --file outbox.sqlite list", "what is queued, held or refused")],
    "reset": [
      ("reset", "into the application"), ("reset --into loader", "for esptool with --before no-reset"),
    ],
    "flash": [
      ("flash build", "a build of ESP-IDF, only what changed"),
      ("flash build --then-test", "and the conformance suite"),
      ("flash build --monitor", "and the console from the restart on"),
      ("flash app.bin@0x10000 --dry-run", "checks only"),
    ],
    "test": [
      ("test -p emu:", "an emulated board, as a first try"),
      ("test --filter NTF --junit report.xml", "a chapter of the rules on the only board"),
      (
        "test -p /dev/ttyACM0 --also ble:Notibot@hci0",
        "both bearers of a board, and what they answer differently"
      ),
    ],
    "soak": [("soak -p emu: --duration 60", "a minute of load with faults")],
    "emulate": [
      ("emulate --link /tmp/notibot --control /tmp/control", "other commands then use -p /tmp/notibot"),
      ("emulate --view", "with its display in a browser"),
    ],
    "control": [
      ("control --socket /tmp/control unplug", "pulls the cable"),
      ("control --socket /tmp/control action 1 0", "presses the first button of the first notification"),
    ],
    "view": [("view --socket /tmp/control", "the display of a running emulator")],
    "proxy": [("proxy -p /dev/ttyACM0 --link /tmp/faulty --faults flip=1e-4", "a board behind a bad cable")],
    "bench": [("bench -p emu:", "throughput and round trips")],
    "report": [
      ("report html report.json --output report.html", "one file for a browser"),
      ("report compare old.json new.json", "exit code 1 if the new one is worse"),
    ],
    "image": [("image info build/app.bin", "chip, version and hashes of a file")],
    "docs": [("docs CLI", "this version's page about the command line")],
    "doctor": [("doctor --json", "for a script")],
    "devices": [
      ("devices --probe", "with the answer of each board"),
      ("devices --watch", "what is plugged and unplugged"),
    ],
  ]

  /// The block of a command's help; `nil`: there is none. The program's own has an empty path.
  static func of(_ path: [Substring]) -> String? {
    let examples = all[String(path.first ?? "")]?.filter {
      path.isEmpty || $0.line.split(separator: " ").starts(with: path)
    }
    guard let examples, !examples.isEmpty else { return nil }
    return "EXAMPLES\n"
      + examples.map { "  notibot \($0.line)\n      \($0.purpose)" }.joined(separator: "\n")
  }
}
