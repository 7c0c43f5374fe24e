import NotibotProtocol
import SerialLink

/// The flash of the chip and its file.
extension EmulatorServer {
  /// Loads the flash file, and makes the loader of the chip with it.
  static func open(
    _ options: FlashOptions?, of profile: DeviceProfile
  ) throws(PortError) -> (file: FlashFile, loader: LoaderMachine)? {
    guard let options else { return nil }
    let file = try FlashFile(at: options.file)
    let flash = try file.load(sizeBytes: options.sizeBytes)
    var loader = LoaderMachine(chip: .named(options.chip), deviceID: profile.deviceID, flash: flash)
    loader.setFaults(options.faults)
    return (file, loader)
  }

  /// Writes what has changed in the flash to its file. A file that cannot be written fails the
  /// supply of the chip, so that no host takes a write for done.
  func storeFlash() {
    guard let flashFile, let changes = wired.device.loader?.drainFlashChanges(), !changes.isEmpty else {
      return
    }
    do throws(PortError) {
      guard let flash = wired.device.loader?.flash else { return }
      for range in changes { try flashFile.store(range, of: flash) }
    } catch {
      wired.device.loader?.fail(error.description)
    }
  }

  /// Reads the rate that the host set: that of a paced line, and of the host for a loader.
  func followHostRate() {
    guard wired.followsHostRate, case .plugged(let channel, _) = line,
      let wanted = try? PseudoTerminalChannel.hostBitsPerSecond(of: channel),
      wanted != wired.hostBitsPerSecond
    else { return }
    wired.setBitsPerSecond(wanted)
  }
}
