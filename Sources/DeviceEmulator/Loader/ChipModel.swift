package import FirmwareImages
import NotibotProtocol

/// A chip of Espressif as its loader shows it: identity, addresses and fuses. Values only; what a
/// loader does with them is in `LoaderMachine`.
package struct ChipModel: Equatable, Sendable {
  /// The chips that can be emulated.
  package enum Name: String, Equatable, Sendable, CaseIterable, Codable {
    case esp32
    case esp32s3
    case esp32c3
  }

  /// Where the SPI controller of the flash has its registers, relative to `spiBase`.
  struct SPIOffsets: Equatable, Sendable {
    var user: UInt32
    var user2: UInt32
    var data: UInt32
  }

  /// Where the base MAC address is in the fuses.
  enum MACFuses: Equatable, Sendable {
    /// The low 32 bits, then the high 16 bits.
    case plain(low: UInt32, high: UInt32)
    /// The same with the CRC-8 of the address above the high bits.
    case withCRC(low: UInt32, high: UInt32)
  }

  package let name: Name
  /// What its images must be. `image.id` is also in the answer to GET_SECURITY_INFO.
  package let image: ESPChip
  /// Whether the ROM answers GET_SECURITY_INFO.
  let hasSecurityInfo: Bool
  let spiBase: UInt32
  let spi: SPIOffsets
  let mac: MACFuses
  /// Registers with a value other than 0.
  let registers: [UInt32: UInt32]
  /// The divider of the console's UART; nil if nobody reads it.
  let clockDivider: UInt32?
  /// The registers of the watchdog that `--after watchdog-reset` starts: its configuration.
  let watchdogConfiguration: UInt32?
  /// The first lines of the ROM after each reset.
  let banner: String
  /// The names of the causes of a reset, as the ROM prints them.
  let causes: ResetCauses
  /// The strapping value and boot mode, as the ROM prints them.
  let applicationStrap: String
  let downloadStrap: String

  /// How the ROM spells the cause of a reset.
  enum ResetCauses: Equatable, Sendable {
    /// ESP32: `POWERON_RESET`.
    case long
    /// Later chips: `POWERON`.
    case short
  }

  /// The table of chips. Sources: the technical reference manuals, chapters "eFuse Controller" and
  /// "SPI Controller"; esptool's targets.
  package static func named(_ name: Name) -> ChipModel {
    switch name {
    case .esp32: esp32
    case .esp32s3: esp32s3
    case .esp32c3: esp32c3
    }
  }

  private static let laterOffsets = SPIOffsets(user: 0x18, user2: 0x20, data: 0x58)

  /// ESP32-D0WD-V3, revision 3.1, 40 MHz crystal.
  private static let esp32 = ChipModel(
    name: .esp32, image: .esp32, hasSecurityInfo: false, spiBase: 0x3FF4_2000,
    spi: SPIOffsets(user: 0x1C, user2: 0x24, data: 0x80),
    mac: .withCRC(low: 0x3FF5_A004, high: 0x3FF5_A008),
    registers: [
      0x4000_1000: 0x00F0_1D83,  // the chip's magic
      0x3FF5_A00C: 0x0000_A200,  // package, revision bit 0
      0x3FF5_A010: 0x0000_1080,  // frequency of the 8 MHz clock
      0x3FF5_A014: 0x0110_0000,  // revision bit 1, minor revision
      0x3FF6_607C: 0x9604_2000,  // revision bit 2
      0x3FF5_F06C: 0x0001_9000,  // crystal calibration
      0x3FF4_4038: 0x0000_0013,  // straps
    ],
    clockDivider: 0x3FF4_0014, watchdogConfiguration: nil,
    banner: "ets Jul 29 2019 12:21:46\r\n\r\n", causes: .long,
    applicationStrap: "0x13 (SPI_FAST_FLASH_BOOT)",
    downloadStrap: "0x3 (DOWNLOAD_BOOT(UART0/UART1/SDIO_REI_REO_V2))")

  private static let esp32s3 = ChipModel(
    name: .esp32s3, image: .esp32s3, hasSecurityInfo: true, spiBase: 0x6000_2000, spi: laterOffsets,
    mac: .plain(low: 0x6000_7044, high: 0x6000_7048),
    registers: [
      0x4000_1000: 0x0000_0009,  // the chip's magic, which esptool 4 compares
      0x6000_7050: 0x0008_0000,
    ],
    clockDivider: nil, watchdogConfiguration: 0x6000_8098,
    banner: "ESP-ROM:esp32s3-20210327\r\nBuild:Mar 27 2021\r\n", causes: .short,
    applicationStrap: "0x8 (SPI_FAST_FLASH_BOOT)", downloadStrap: "0x0 (DOWNLOAD(USB/UART0))")

  private static let esp32c3 = ChipModel(
    name: .esp32c3, image: .esp32c3, hasSecurityInfo: true, spiBase: 0x6000_2000, spi: laterOffsets,
    mac: .plain(low: 0x6000_8844, high: 0x6000_8848),
    registers: [
      0x4000_1000: 0x1B31_506F,  // the same, since revision 0.3
      0x6000_8850: 0x0010_0000,
    ],
    clockDivider: nil, watchdogConfiguration: 0x6000_8090,
    banner: "ESP-ROM:esp32c3-api1-20210207\r\nBuild:Feb  7 2021\r\n", causes: .short,
    applicationStrap: "0xc (SPI_FAST_FLASH_BOOT)", downloadStrap: "0x4 (DOWNLOAD(USB/UART0/1))")
}

extension ChipModel {
  /// The value of a register that is not the SPI controller's; 0 for all others.
  func register(_ address: UInt32, of deviceID: DeviceID?, bitsPerSecond: UInt32) -> UInt32 {
    if let value = registers[address] { return value }
    if address == clockDivider { return 40_000_000 / max(1, bitsPerSecond) }
    let octets = deviceID?.octets ?? []
    guard octets.count == 6 else { return 0 }
    let high = UInt32(octets[0]) << 8 | UInt32(octets[1])
    let low = octets[2...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    switch mac {
    case .plain(low: address, _), .withCRC(low: address, _): return low
    case .plain(_, high: address): return high
    case .withCRC(_, high: address): return UInt32(Self.crc8(octets)) << 16 | high
    case .plain, .withCRC: return 0
    }
  }

  /// Polynomial 0x8C (reflected), initially 0. Source: esptool's espefuse, `calc_crc`.
  static func crc8(_ bytes: [UInt8]) -> UInt8 {
    bytes.reduce(0) { crc, byte in
      (0..<8).reduce(crc ^ byte) { value, _ in value & 1 == 1 ? value >> 1 ^ 0x8C : value >> 1 }
    }
  }

  /// The data of the answer to GET_SECURITY_INFO: flags, crypt count, key purposes, chip id, API.
  var securityInfo: [UInt8] {
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0C] + .littleEndian(UInt32(image.id)) + [0, 0, 0, 0]
  }
}
