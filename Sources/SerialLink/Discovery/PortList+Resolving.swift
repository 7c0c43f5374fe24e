import Glibc

// From names to addresses. This is the only place that decides which port a name means.
extension PortList {
  /// The address to open for `name`: the address itself, or the only port that matches `auto` or
  /// `usb:`.
  ///
  /// - Throws: `PortError` as `port(for:)`. A board identity requires probing the boards, a labgrid
  ///   place has to be acquired, and a stand-in has to be started; such names have an address only
  ///   then, and throw `.unavailableForm`.
  package func address(of name: PortName) throws(PortError) -> PortAddress {
    if let address = name.address { return address }
    return .tty(path: try port(for: name).path)
  }

  /// The only port that matches `.automatic` or `.usb`; never one of several, nor an unknown board.
  ///
  /// - Throws: `.noBoard` or `.notFound` if none matches, `.ambiguous` if several do,
  ///   `.unavailableForm` for the other forms, which do not name a port in this list.
  package func port(for name: PortName) throws(PortError) -> PortInfo {
    guard name.deviceID == nil else { throw unavailable(name) }
    let matches = try matches(of: name, among: ports())
    guard let first = matches.ports.first else {
      throw PortError(matches.otherwise, port: name.description, operation: "find")
    }
    guard matches.ports.count == 1 else {
      let isOneBoard = Set(matches.ports.map(\.usb?.location)).count == 1
      let code: PortError.Code =
        isOneBoard
        ? .severalInterfaces(matches.ports.map(\.interfaceSummary)) : .ambiguous(matches.ports.map(\.summary))
      throw PortError(code, port: name.description, operation: "choose")
    }
    return first
  }

  /// The candidate ports for the board in `name`, the likeliest first; links are not resolved.
  ///
  /// - Parameter isPinned: whether the board is known by its identity, so that any known board can
  ///   be probed for it.
  /// - Throws: `.noBoard`, `.notFound` or `.ambiguous` if there is no candidate; `.unavailableForm`
  ///   for a labgrid place and a stand-in.
  package func candidates(for name: PortName, isPinned: Bool) throws(PortError) -> [PortAddress] {
    let ports = ports()
    let known = ports.filter(\.isKnownBoard)
    if let address = name.address {
      guard isPinned, let path = address.path else { return [address] }
      let target = FileSystem.resolved(path)
      let others = known.filter { target == nil || FileSystem.resolved($0.path) != target }
      return [address] + others.map(\.address)
    }
    guard isPinned || name.deviceID != nil else { return [try address(of: name)] }
    let matches = try matches(of: name, among: ports)
    let candidates = matches.ports + known.filter { !matches.ports.contains($0) }
    guard !candidates.isEmpty else {
      throw PortError(matches.otherwise, port: name.description, operation: "find")
    }
    return candidates.map(\.address)
  }

  /// All boards that match `name`, in the order of the list: every known one for `.automatic`,
  /// every one with that USB id for `.usb`, every file for a path with `*`. A name of another form,
  /// and one without a match, stands for itself.
  package func all(matching name: PortName) -> [PortName] {
    if let path = name.address?.path, path.contains("*") {
      var found = glob_t()
      defer { globfree(&found) }
      guard glob(path, 0, nil, &found) == 0 else { return [name] }
      return (0..<Int(found.gl_pathc)).compactMap { index in
        found.gl_pathv[index].map { .address(.tty(path: String(cString: $0))) }
      }
    }
    // Opening the name itself reports the error.
    guard name.deviceID == nil, let matches = try? matches(of: name, among: ports()), !matches.ports.isEmpty
    else { return [name] }
    return matches.ports.map { .address($0.address) }
  }

  /// The ports that match a name, and the error if there are none.
  private struct Matches {
    var ports: [PortInfo]
    var otherwise: PortError.Code
  }

  private func matches(of name: PortName, among ports: [PortInfo]) throws(PortError) -> Matches {
    switch name {
    case .automatic, .deviceID:
      return Matches(ports: ports.filter(\.isKnownBoard), otherwise: .noBoard(others: ports.map(\.summary)))
    case .usb(let id, let serial):
      return Matches(
        ports: ports.filter { $0.matches(id, serial: serial) },
        otherwise: .notFound(present: ports.map(\.summary)))
    case .address, .labgrid, .bluetooth, .attributes, .standIn: throw unavailable(name)
    }
  }

  private func unavailable(_ name: PortName) -> PortError {
    PortError(.unavailableForm, port: name.description, operation: "open")
  }
}

extension PortList {
  /// The information about the port at an address; `nil` if it is not in this list, such as a
  /// pseudo-terminal or a server's port.
  package func info(at address: PortAddress) -> PortInfo? {
    guard let path = address.path else { return nil }
    let target = FileSystem.resolved(path) ?? path
    return ports().first { $0.path == path || $0.path == target || FileSystem.resolved($0.path) == target }
  }

  /// The information about the port of a name; `nil` if there is none, or if the name currently
  /// matches no port.
  package func info(for name: PortName) -> PortInfo? {
    (try? address(of: name)).flatMap { info(at: $0) }
  }

  /// The port of the device that is plugged in there, if its node exists too. A bridge with several
  /// ports has several interfaces. Its name can differ from before.
  package func port(at location: String, interface: Int?) -> PortInfo? {
    ports().first {
      $0.usb?.location == location && $0.usb?.interface == interface && $0.hasNode
    }
  }
}

extension PortInfo {
  /// The address to open.
  package var address: PortAddress { .tty(path: path) }

  fileprivate func matches(_ id: USBID, serial: String?) -> Bool {
    usb?.id == id && (serial == nil || usb?.serial == serial)
  }

  /// Path and USB number, enough to distinguish boards in a message.
  fileprivate var summary: String {
    usb.map { "\(path) (\($0.id)\($0.serial.map { " \($0)" } ?? ""))" } ?? path
  }

  /// Path and interface, enough to distinguish the ports of one board.
  fileprivate var interfaceSummary: String {
    usb?.interface.map { "\(path) (interface \($0))" } ?? path
  }
}
