/// Checks this computer for problems that prevent the use of boards. Changes nothing and opens no
/// port.
package struct Diagnosis: Sendable {
  let computer: Computer
  let ports: [PortInfo]
  let holders: [String: PortHolder]

  package init(of computer: Computer) {
    self.computer = computer
    ports = computer.ports.ports()
    holders = computer.holders(ports.map(\.path))
  }

  /// The findings, in the order in which to fix them.
  package func findings() -> [Finding] {
    selection() + drivers() + rights() + inUse() + staleLocks() + latencies() + modemManager() + brltty()
      + udevRules() + terminals() + bluetooth() + programs()
  }

  var boards: [PortInfo] { ports.filter(\.isKnownBoard) }

  // MARK: Which port

  /// The port that a command without `--port` would open, and why.
  private func selection() -> [Finding] {
    let chosen: Sourced<PortName>
    do throws(PortError) {
      chosen = try PortSelection.port(option: nil, environment: computer.environment)
    } catch {
      return [Finding(.trouble, "selection", error.description, command: "unset NOTIBOT_PORT ESPPORT")]
    }
    guard let address = chosen.value.address else { return [found(chosen)] }
    let text = "\(chosen.source) names \(address)"
    if let path = address.path, computer.node(path) == nil {
      return [
        Finding(.trouble, "selection", "\(text), which does not exist", command: "unset \(chosen.source)")
      ]
    }
    return [Finding(.good, "selection", text)]
  }

  private func found(_ chosen: Sourced<PortName>) -> Finding {
    let who =
      switch chosen.source {
      case .standard: "auto"
      case .option(let name), .environment(let name): "\(name)=\(chosen.value)"
      }
    do throws(PortError) {
      let port = try computer.ports.port(for: chosen.value)
      let board = port.usb.map { " (\($0.id) \($0.adapter?.name ?? "unknown"))" } ?? ""
      let reason = chosen.value == .automatic ? ": the only known board" : ""
      return Finding(.good, "selection", "\(who) selects \(port.path)\(board)\(reason)")
    } catch {
      // Not a local port: only opening it shows whether it exists.
      if case .unavailableForm = error.code {
        return Finding(.good, "selection", "\(chosen.source) names \(chosen.value)")
      }
      // A missing board is not a fault of the computer; a variable that names one is.
      let severity: Finding.Severity = chosen.source == .standard ? .warning : .trouble
      return Finding(
        severity, "selection", "\(who) selects no port: \(error.reason); \(error.hint)",
        command: chosen.source == .standard ? nil : "unset \(chosen.source)")
    }
  }

  // MARK: Drivers

  /// Boards on the USB without a serial port, and their locations.
  var orphans: [(id: USBID, location: String, adapter: USBAdapter)] {
    let served = Set(ports.compactMap { $0.usb?.location })
    let folder = "\(computer.sysfsRoot)/bus/usb/devices"
    return FileSystem.names(in: folder).compactMap { name in
      guard !served.contains(name), let id = usbID(at: "\(folder)/\(name)"),
        let adapter = USBAdapter.known(id)
      else { return nil }
      return (id, name, adapter)
    }
  }

  private func drivers() -> [Finding] {
    orphans.map { orphan in
      Finding(
        .trouble, "driver",
        "\(orphan.id) at \(orphan.location) (\(orphan.adapter.name)) has no serial port: no driver is bound to it",
        command: "sudo modprobe \(orphan.adapter.driver)")
    }
      + boards.map { board in
        Finding(.good, "driver", "\(board.path) uses the driver \(board.driver ?? "(unnamed)")")
      }
  }

  private func usbID(at folder: String) -> USBID? {
    guard let vendor = FileSystem.line(at: "\(folder)/idVendor").flatMap({ USBID.number($0) }),
      let product = FileSystem.line(at: "\(folder)/idProduct").flatMap({ USBID.number($0) })
    else { return nil }
    return USBID(vendor: vendor, product: product)
  }

  // MARK: Speed

  /// FTDI chips delay data that does not fill a packet for this time.
  private func latencies() -> [Finding] {
    boards.compactMap { board in
      let name = board.name
      let path = "\(computer.sysfsRoot)/bus/usb-serial/devices/\(name)/latency_timer"
      guard let text = FileSystem.line(at: path), let latencyMs = Int(text) else { return nil }
      guard latencyMs > 1 else {
        return Finding(.good, "latency", "the latency timer of \(board.path) is 1 ms")
      }
      return Finding(
        .warning, "latency", "the latency timer of \(board.path) is \(latencyMs) ms, 1 ms is recommended",
        command: "echo 1 | sudo tee \(path)")
    }
  }

  // MARK: The rest of the rig

  private func terminals() -> [Finding] {
    guard computer.makesTerminals() else {
      return [
        Finding(
          .trouble, "terminal", "cannot create pseudo-terminals: emulators cannot run",
          command: "sudo mount -t devpts devpts /dev/pts")
      ]
    }
    return [Finding(.good, "terminal", "pseudo-terminals can be created")]
  }

  private func programs() -> [Finding] {
    let wanted: [(names: [String], purpose: String, command: String)] = [
      (["uhubctl"], "switches the power of USB ports", "sudo apt-get install uhubctl"),
      (["qemu-system-riscv32"], "runs firmware without a board", "sudo apt-get install qemu-system-misc"),
    ]
    return wanted.map { wanted in
      guard let path = computer.program(wanted.names) else {
        return Finding(
          .warning, "program", "\(wanted.names[0]) (\(wanted.purpose)) is not in PATH",
          command: wanted.command)
      }
      return Finding(.good, "program", "\(wanted.names[0]) is \(path)")
    }
  }
}

extension PortInfo {
  /// Without its folder, such as `ttyUSB0`.
  var name: String { path.split(separator: "/").last.map(String.init) ?? path }
}
