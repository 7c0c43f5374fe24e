/// The SPI controller in front of the flash, as far as a host uses it through its registers: user
/// commands that read a few bytes.
struct SPIController: Equatable, Sendable {
  /// The size of the register block.
  private static let registersBytes: UInt32 = 0x100
  private static let start: UInt32 = 1 << 18
  /// ADDR, behind CMD at offset 0.
  private static let addressOffset: UInt32 = 4

  private let base: UInt32
  private let offsets: ChipModel.SPIOffsets
  private var registers = [UInt32](repeating: 0, count: Int(registersBytes / 4))

  init(chip: ChipModel) {
    base = chip.spiBase
    offsets = chip.spi
  }

  /// The value of a register; nil if the address is not the controller's.
  func read(_ address: UInt32) -> UInt32? {
    index(address).map { registers[$0] }
  }

  /// Writes a register, and carries out the command that it starts. Returns false if the address is
  /// not the controller's.
  mutating func write(_ value: UInt32, to address: UInt32, flash: inout NORFlash) -> Bool {
    guard let index = index(address) else { return false }
    guard index == 0 else {
      registers[index] = value
      return true
    }
    // The command register reads 0 when the command has ended, which it has at once.
    guard value & Self.start != 0 else { return true }
    let opcode = UInt8(truncatingIfNeeded: register(offsets.user2))
    let rawAddress = register(Self.addressOffset)
    registers[Int(offsets.data / 4)] = Self.answer(to: opcode, rawAddress: rawAddress, flash: &flash)
    return true
  }

  private func index(_ address: UInt32) -> Int? {
    guard address >= base, address - base < Self.registersBytes, address % 4 == 0 else { return nil }
    return Int((address - base) / 4)
  }

  private func register(_ offset: UInt32) -> UInt32 { registers[Int(offset / 4)] }

  /// The data of a flash command, for a W25Q chip of the flash's size. Source: W25Q32JV datasheet.
  private static func answer(to opcode: UInt8, rawAddress: UInt32, flash: inout NORFlash) -> UInt32 {
    switch opcode {
    // RDID: manufacturer, type, log2 of the size.
    case 0x9F: 0x40EF | UInt32(flash.sizeBytes.trailingZeroBitCount) << 16
    // SFDP at 0: the signature. At 0x10, which the ESP32 shifts by 8 bits: the manufacturer.
    case 0x5A: rawAddress == 0 ? 0x5044_4653 : 0xEF
    // Status register 1, with its protection bits BP0 to BP2.
    case 0x05: flash.isWriteProtected ? 0x1C : 0
    case _: 0
    }
  }
}
