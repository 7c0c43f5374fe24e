import SerialLink

/// A serial port as `devices` prints it: in a table, in a document, or as an event.
struct PortDocument: Encodable, Sendable {
  /// The process that has the port open.
  struct Holder: Encodable, Sendable {
    var pid: Int32
    var command: String
  }

  /// The answer of a Notibot to the probe.
  struct Answer: Encodable, Sendable {
    var deviceID: String?
    var firmware: String?
    var version: String?
    var count: Int
  }

  /// `present`, `added` or `removed`; nil in a list.
  var event: String?
  var port: String
  var isKnownBoard: Bool
  var usbID: String?
  var serial: String?
  var manufacturer: String?
  var product: String?
  var board: String?
  /// Known for some USB ids only.
  var chip: String?
  var interface: Int?
  var location: String?
  var driver: String?
  var byID: String?
  var byPath: String?
  var heldBy: Holder?
  /// With `--probe`: the answer.
  var notibot: Answer?
  /// With `--probe`: why there is no answer, or why the port was not probed.
  var unasked: String?

  init(_ info: PortInfo, event: String? = nil, holder: PortHolder? = nil) {
    self.event = event
    port = info.path
    isKnownBoard = info.isKnownBoard
    usbID = info.usb?.id.description
    serial = info.usb?.serial
    manufacturer = info.usb?.manufacturer
    product = info.usb?.product
    board = info.usb?.adapter?.name
    chip = info.usb?.adapter?.chip
    interface = info.usb?.interface
    location = info.usb?.location
    driver = info.driver
    byID = info.byID
    byPath = info.byPath
    heldBy = holder.map { Holder(pid: $0.pid, command: $0.command) }
  }

  /// The heads of `cells`.
  static let heads = ["", "PORT", "ID", "SERIAL", "BOARD", "CHIP", "DRIVER", "AT", "USED BY"]

  /// One row of the table, safe to print.
  var cells: [String] {
    [
      isKnownBoard ? "*" : "", port, usbID ?? "-", serial ?? "-", board ?? product ?? "-", chip ?? "-",
      driver ?? "-", location ?? "-",
      heldBy.map { PortHolder(pid: $0.pid, command: $0.command).description } ?? "-",
    ].map(\.printable)
  }

  /// The board's answer, safe to print.
  var answerCell: String {
    guard let notibot else { return (unasked ?? "-").printable }
    let firmware = [notibot.firmware, notibot.version].compactMap(\.self).joined(separator: " ")
    return [
      notibot.deviceID ?? "no id", firmware.isEmpty ? "unnamed firmware" : firmware,
      "\(notibot.count) stored",
    ]
    .joined(separator: ", ").printable
  }

  /// One event, safe to print.
  var line: String {
    [event, port, usbID, serial, board ?? product, location.map { "at \($0)" }].compactMap(\.self)
      .joined(separator: " ").printable
  }
}
