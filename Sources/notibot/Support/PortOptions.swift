import ArgumentParser

/// The options that name a port, the same in every command that opens one.
struct PortOptions: ParsableArguments {
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The port: /dev/ttyACM0, auto, usb:VID:PID[:SERIAL], socket://host:port or emu:[profile].",
      discussion: "Without it: NOTIBOT_PORT, else ESPPORT, else auto.", valueName: "port"))
  var port: String?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Bits per second.", discussion: "Without it: NOTIBOT_BAUD, else ESPBAUD, else 921600.",
      valueName: "rate"))
  var baud: String?
}
