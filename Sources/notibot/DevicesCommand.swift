import ArgumentParser
import SerialLink

/// `notibot devices`: the serial ports of this machine and what stands behind them. Writes to none of them.
struct DevicesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "devices", abstract: "List the serial ports and the boards behind them.",
    discussion: "Ports marked * are known boards, which 'auto' may choose. Nothing is written to any port.")

  @Flag(help: "Print one JSON document.")
  var json = false

  func run() throws {
    let ports = PortList().ports()
    if json {
      try Output.json(Document(ports: ports.map(Document.Port.init)), pretty: true)
    } else if ports.isEmpty {
      Output.note("notibot: no serial port is present")
    } else {
      Output.data(table(of: ports))
    }
  }

  private func table(of ports: [PortInfo]) -> String {
    let rows =
      [["", "PORT", "ID", "SERIAL", "BOARD", "DRIVER", "AT"]]
      + ports.map { port in
        [
          port.isKnownBoard ? "*" : "", port.path, port.usb?.id.description ?? "-", port.usb?.serial ?? "-",
          port.usb?.adapter?.name ?? port.usb?.product ?? "-", port.driver ?? "-", port.usb?.location ?? "-",
        ].map { $0.printable }
      }
    return Table.text(rows)
  }

  /// What `--json` prints.
  private struct Document: Encodable {
    struct Port: Encodable {
      var port: String
      var isKnownBoard: Bool
      var usbID: String?
      var serial: String?
      var manufacturer: String?
      var product: String?
      var board: String?
      var interface: Int?
      var location: String?
      var driver: String?
      var byID: String?
      var byPath: String?

      init(_ info: PortInfo) {
        port = info.path
        isKnownBoard = info.isKnownBoard
        usbID = info.usb?.id.description
        serial = info.usb?.serial
        manufacturer = info.usb?.manufacturer
        product = info.usb?.product
        board = info.usb?.adapter?.name
        interface = info.usb?.interface
        location = info.usb?.location
        driver = info.driver
        byID = info.byID
        byPath = info.byPath
      }
    }

    var schema = "notibot.devices"
    var version = 1
    var ports: [Port]
  }
}
