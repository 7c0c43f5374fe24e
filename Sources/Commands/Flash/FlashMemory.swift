import FirmwareImages
import Foundation
import SerialLink

/// What this user has written to each board last, to find the changed sectors. A cache: esptool
/// verifies what it finds, so a wrong or missing file costs time only.
struct FlashMemory: Sendable {
  /// `nil` without a folder for caches.
  private let folder: String?

  init(environment: [String: String] = ProcessInfo.processInfo.environment) {
    folder = UserFolder.cache.path(environment: environment).map { $0 + "/flash" }
  }

  /// Whether nothing is known about any board.
  var isEmpty: Bool { folder.map { names(in: $0).isEmpty } ?? true }

  /// The file with what was written last at the place of each part; `nil`: not known.
  func files(of mac: String, _ plan: FlashPlan) -> [String?] {
    plan.parts.map { part in
      guard let path = path(of: mac, part.offset), access(path, R_OK) == 0 else { return nil }
      return path
    }
  }

  /// Removes what a write to these places makes invalid.
  func forget(_ mac: String, _ plan: FlashPlan) {
    guard let folder = board(mac) else { return }
    for name in names(in: folder) {
      let path = "\(folder)/\(name)"
      guard let start = UInt64(name.prefix { $0 != "." }, radix: 16),
        let size = (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? UInt64,
        plan.parts.contains(where: { UInt64($0.offset) < start + size && start < $0.end })
      else { continue }
      unlink(path)
    }
  }

  /// Keeps what was written and verified.
  func remember(_ mac: String, _ plan: FlashPlan) {
    keep(plan.parts.compactMap { part in path(of: mac, part.offset).map { ($0, part.bytes) } }, of: mac)
  }

  /// The size of the flash of a board, in bytes; `nil`: not known.
  func flashBytes(of mac: String) -> Int? {
    board(mac).flatMap { FileManager.default.contents(atPath: $0 + "/flash-size") }
      .flatMap { Int(String(decoding: $0, as: UTF8.self)) }
  }

  /// Keeps that size.
  func remember(_ mac: String, flashBytes: Int) {
    keep([((board(mac) ?? "") + "/flash-size", Array("\(flashBytes)".utf8))], of: mac)
  }

  private func keep(_ files: [(path: String, bytes: [UInt8])], of mac: String) {
    guard let folder = board(mac) else { return }
    do {
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
      for file in files { try WholeFile.write(file.bytes, to: file.path) }
    } catch {
      Output.note("cannot keep a copy in \(folder.printable): the next write takes as long as this one")
    }
  }

  private func board(_ mac: String) -> String? {
    guard let folder, EsptoolOutput.isMAC(mac) else { return nil }
    return "\(folder)/\(mac.filter { $0 != ":" }.lowercased())"
  }

  private func path(of mac: String, _ offset: UInt32) -> String? {
    board(mac).map { "\($0)/\(hex(offset, digits: 8)).bin" }
  }

  private func names(in folder: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
  }
}
