import CFirmwareHost
package import Conformance
import Glibc

/// A build of the reference firmware: the one that is linked into this program, or a shared
/// library. It is never unloaded, because a device can use it as long as the program runs.
///
/// A library exports `nb_host_table` (`nb_host.h`) and no symbol that it needs itself.
package struct FirmwareLibrary: Sendable {
  /// The path it was loaded from; nil if it is linked in.
  package let path: String?
  /// Address of the table, which is constant.
  private let tableAddress: UInt

  /// The one that is linked into this program.
  package static let linked = FirmwareLibrary(path: nil, tableAddress: UInt(bitPattern: nb_host_table()))

  /// Loads a shared library.
  ///
  /// - Throws: `RigTrouble` if it cannot be loaded, is not firmware, has another version, or shares
  ///   its functions with this program.
  package static func load(_ path: String) throws(RigTrouble) -> FirmwareLibrary {
    let remedy = "build it with scripts/dev firmware-library"
    // Opening a FIFO would wait for its writer.
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
      throw RigTrouble("cannot load the firmware: \(path) is not a file", remedy: remedy)
    }
    // Without a slash, dlopen would search the system's folders.
    guard let handle = dlopen(path.contains("/") ? path : "./" + path, RTLD_NOW | RTLD_LOCAL) else {
      throw RigTrouble("cannot load the firmware: \(String(cString: dlerror()))", remedy: remedy)
    }
    guard let symbol = dlsym(handle, "nb_host_table") else {
      throw RigTrouble("\(path) is not firmware: it has no nb_host_table", remedy: remedy)
    }
    typealias TableFunction = @convention(c) () -> UnsafePointer<nb_host_table_t>?
    guard let table = unsafeBitCast(symbol, to: TableFunction.self)() else {
      throw RigTrouble("\(path) is not firmware: its nb_host_table returns nothing", remedy: remedy)
    }
    guard table.pointee.version == NB_HOST_VERSION else {
      throw RigTrouble(
        "\(path) is built for version \(table.pointee.version) of nb_host.h, this program for \(NB_HOST_VERSION)",
        remedy: remedy)
    }
    let library = FirmwareLibrary(path: path, tableAddress: UInt(bitPattern: table))
    guard library.createAddress != linked.createAddress else {
      throw RigTrouble(
        "\(path) runs the firmware of this program: its symbols are not its own", remedy: remedy)
    }
    return library
  }

  /// Its functions.
  var table: nb_host_table_t {
    guard let table = UnsafePointer<nb_host_table_t>(bitPattern: tableAddress) else {
      preconditionFailure("a library without a table is not made")
    }
    return table.pointee
  }

  private var createAddress: UInt { unsafeBitCast(table.create, to: UInt.self) }
}
