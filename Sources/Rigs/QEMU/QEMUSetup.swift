import Foundation
package import SerialLink

/// The paths and arguments to start QEMU with.
package struct QEMUSetup: Sendable {
  /// The emulator of the CPU that the reference firmware is built for.
  static let programName = "qemu-system-riscv32"
  /// The output of `firmware-fixtures/ports/qemu-virt/build`, under `.build`.
  static let imageName = "firmware/notibot-qemu-virt.elf"

  /// QEMU's path.
  package let program: String
  /// The firmware's path.
  package let image: String

  /// Finds QEMU (NOTIBOT_QEMU, else in PATH) and the firmware.
  ///
  /// - Parameter image: an ELF file; default: the one that was built next to this program, or in
  ///   `.build` of the current directory.
  /// - Throws: `Failure` if one of them is missing.
  package init(
    image: String?, environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws(Failure) {
    program = try Self.program(environment)
    self.image = try Self.image(image)
  }

  private static func program(_ environment: [String: String]) throws(Failure) -> String {
    if let named = environment["NOTIBOT_QEMU"], !named.isEmpty {
      guard FileManager.default.isExecutableFile(atPath: named) else {
        throw Failure(
          qemu: "NOTIBOT_QEMU does not name a program: \(named)", remedy: "correct it, or unset it")
      }
      return named
    }
    for directory in environment["PATH", default: ""].split(separator: ":") {
      let path = "\(directory)/\(programName)"
      if FileManager.default.isExecutableFile(atPath: path) { return path }
    }
    throw Failure(
      qemu: "there is no \(programName) in PATH",
      remedy: "install it: apt-get install qemu-system-misc, or name it in NOTIBOT_QEMU")
  }

  private static func image(_ named: String?) throws(Failure) -> String {
    if let named {
      guard let file = FileHandle(forReadingAtPath: named) else {
        throw Failure(qemu: "there is no firmware at \(named)", remedy: "name an ELF file, as in qemu:my.elf")
      }
      // QEMU loads any other file as machine code, without an error.
      guard (try? file.read(upToCount: 4)) == Data([0x7F, 0x45, 0x4C, 0x46]) else {
        throw Failure(qemu: "\(named) is not an ELF file", remedy: "name one, as in qemu:my.elf")
      }
      return named
    }
    if let path = BuiltFile.path(imageName, in: ".build/", orAbove: 3) { return path }
    throw Failure(
      qemu: "the firmware has not been built: there is no .build/\(imageName)",
      remedy: "build it: firmware-fixtures/ports/qemu-virt/build")
  }

  /// QEMU's arguments. Descriptor 3 is the monitor, 4 the control line.
  ///
  /// - Parameter uart: the path of the socket that becomes the link's line; without a comma.
  func arguments(uart: String) -> [String] {
    [
      "-M", "virt", "-bios", "none", "-m", "16M", "-kernel", image,
      "-nodefaults", "-no-user-config", "-display", "none", "-S",
      "-chardev", "socket,id=monitor,fd=3", "-mon", "chardev=monitor,mode=control",
      "-chardev", "socket,id=uart,path=\(uart),server=on,wait=off", "-serial", "chardev:uart",
      "-chardev", "socket,id=control,fd=4", "-device", "pci-serial,chardev=control,addr=1",
    ]
  }
}
