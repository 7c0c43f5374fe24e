import Console
import Foundation
import Glibc
import NotibotHost
import NotibotProtocol
import SerialLink

/// What a monitor says about texts of ESP-IDF that are meant for a program: the beginning of a gdb
/// stub, and a core dump, which it saves.
struct ConsoleNotices {
  private let options: MonitorOptions
  private var dump = CoreDump()
  private var dumpsCount = 0
  /// A device that restarts again and again does not fill the disk.
  private static let dumpsLimit = 16

  init(_ options: MonitorOptions) {
    self.options = options
  }

  /// Source: ESP-IDF, components/esp_gdbstub.
  private static let stub = "Entering gdb stub now."

  /// The notice about a record; `nil` for most.
  mutating func notice(on record: MonitorRecord) -> String? {
    guard case .text(let line) = record.content, line.end == .newline else { return nil }
    let text = VisibleText(line.bytes).plain
    if text.hasSuffix(Self.stub) { return stubNote }
    guard let folder = options.coreDumps else { return nil }
    switch dump.receive(text, decode: { Data(base64Encoded: $0).map { [UInt8]($0) } }) {
    case nil: return nil
    case .broken(let reason): return "the core dump was not saved: \(reason)"
    case .complete(let bytes):
      dumpsCount += 1
      guard dumpsCount <= Self.dumpsLimit else {
        return "the core dump was not saved: at most \(Self.dumpsLimit) are saved in one run"
      }
      return save(bytes, in: folder)
    }
  }

  private var elf: String { options.decoder.map { $0.elf.printable } ?? "FIRMWARE.elf" }

  private var stubNote: String {
    let port = options.port.description.printable
    return "the firmware waits for gdb: exit here, then run the toolchain's gdb with "
      + "-b \(options.serial.bitsPerSecond) -ex 'target remote \(port)' \(elf)"
  }

  /// A name that no file has yet: nothing is ever replaced.
  private func save(_ bytes: [UInt8], in folder: String) -> String {
    for number in 1...999 {
      let path = "\(folder)/core-\(number).bin"
      do throws(Failure) {
        try WholeFile.write(bytes, to: path, isNew: true)
      } catch {
        if (try? FileManager.default.attributesOfItem(atPath: path)) != nil { continue }
        ReportFile.recordLoss()
        return "the core dump was not saved: \(error.message)"
      }
      let command = "esp-coredump info_corefile --core \(path.printable) --core-format raw \(elf)"
      return "saved the core dump: \(command)"
    }
    return "the core dump was not saved: \(folder.printable) has core-1.bin to core-999.bin"
  }
}
