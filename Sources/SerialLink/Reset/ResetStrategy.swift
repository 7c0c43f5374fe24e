/// The target of a reset.
package enum ResetTarget: String, CaseIterable, Sendable {
  case app
  /// The loader in the chip's ROM, which waits for an image.
  case loader
}

/// A named reset method, chosen by the user or from the adapter.
package enum ResetStrategy: String, CaseIterable, Sendable {
  case hard
  case usbHard = "usb-hard"
  case tight
  case tightLong = "tight-long"
  case classic
  case classicLong = "classic-long"
  case usbJTAG = "usb-jtag"
  case cp2102c
  case cp2102cLong = "cp2102c-long"

  /// How long IO0 is held after EN was released, and how long if EN rises slowly.
  private static let delay = Duration.milliseconds(50)
  private static let longDelay = Duration.milliseconds(550)

  package var sequence: ResetSequence {
    switch self {
    case .hard: .hard
    case .usbHard: .usbHard
    case .tight: .tight(rawValue, delay: Self.delay)
    case .tightLong: .tight(rawValue, delay: Self.longDelay)
    case .classic: .classic(rawValue, delay: Self.delay)
    case .classicLong: .classic(rawValue, delay: Self.longDelay)
    case .usbJTAG: .usbJTAG
    case .cp2102c: .cp2102c(rawValue, delay: Self.delay)
    case .cp2102cLong: .cp2102c(rawValue, delay: Self.longDelay)
    }
  }

  /// Its target.
  package var target: ResetTarget {
    switch self {
    case .hard, .usbHard: .app
    case .tight, .tightLong, .classic, .classicLong, .usbJTAG, .cp2102c, .cp2102cLong: .loader
    }
  }

  /// The hardware behind the modem lines of a port.
  package enum Wiring: Hashable, Sendable {
    /// A bridge chip whose lines are wired to EN and IO0; also any unknown UART.
    case bridge
    case cp2102c
    /// USB inside the chip: the port itself restarts with it.
    case chip
    /// A network port, where each call takes time and two lines never change simultaneously.
    case remote
  }

  /// The strategies to try, in order.
  ///
  /// Source: esptool 5, `_construct_reset_strategy_sequence`: on Linux tight before classic, each
  /// with 50 and with 550 ms; on a network port classic only.
  package static func attempts(into target: ResetTarget, over wiring: Wiring) -> [ResetStrategy] {
    switch (target, wiring) {
    case (.app, .chip): [.usbHard]
    case (.app, .bridge), (.app, .cp2102c), (.app, .remote): [.hard]
    case (.loader, .bridge): [.tight, .tightLong, .classic, .classicLong]
    case (.loader, .cp2102c): [.cp2102c, .cp2102cLong]
    case (.loader, .chip): [.usbJTAG]
    case (.loader, .remote): [.classic, .classicLong]
    }
  }
}

extension ResetStrategy.Wiring {
  /// - Parameters:
  ///   - id: of the USB device that the port belongs to; `nil` for one that is not USB.
  ///   - driver: the kernel's, such as `cp210x`.
  package init(id: USBID?, driver: String?) {
    switch (id?.vendor, id?.product) {
    case (0x10C4, 0xEA64): self = .cp2102c
    // USB-Serial/JTAG, and the ROM's own USB of S2, S3 and P4.
    case (0x303A, 0x1001), (0x303A, 0x0002), (0x303A, 0x0009), (0x303A, 0x0012): self = .chip
    case (0x303A, 0x1002): self = .bridge
    case (0x303A, _): self = .chip
    // WCH's CH343 and CH9102 are bridges that use the class driver.
    case (0x1A86, _): self = .bridge
    case (.some, _): self = driver == "cdc_acm" ? .chip : .bridge
    case (nil, _): self = .bridge
    }
  }

  /// The strategies for the port at `address`; `info` is its entry in the list of ports, if any.
  package init(_ address: PortAddress, _ info: PortInfo?) {
    if address.isRemote { self = .remote } else { self.init(id: info?.usb?.id, driver: info?.driver) }
  }
}
