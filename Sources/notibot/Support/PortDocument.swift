import SerialLink

/// A serial port as `devices` shows it: in a table, in a document, or as an event.
struct PortDocument: Encodable, Sendable {
  /// The process that has the port.
  struct Holder: Encodable, Sendable {
    var pid: Int32
    var command: String
  }

  /// What a Notibot said when it was asked.
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
  /// Where the USB number tells it.
  var chip: String?
  var interface: Int?
  var location: String?
  var driver: String?
  var byID: String?
  var byPath: String?
  var heldBy: Holder?
  /// With `--probe`: what answered.
  var notibot: Answer?
  /// With `--probe`: why nothing did, or why it was not asked.
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

  /// What the board said, safe to print.
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
