/// Looks for what would keep somebody from working with boards on this machine. Changes nothing and opens no port.
package struct Diagnosis: Sendable {
  let machine: Machine
  let ports: [PortInfo]
  let holders: [String: PortHolder]

  package init(of machine: Machine) {
    self.machine = machine
    ports = machine.ports.ports()
    holders = machine.holders(ports.map(\.path))
  }

  /// What was found, in the order in which a person would mend it.
  package func findings() -> [Finding] {
    selection() + drivers() + rights() + inUse() + staleLocks() + latencies() + modemManager() + brltty()
      + udevRules() + terminals() + programs()
  }

  var boards: [PortInfo] { ports.filter(\.isKnownBoard) }

  // MARK: Which port

  /// What a command without `--port` would open, and why.
  private func selection() -> [Finding] {
    let chosen: Sourced<PortName>
    do throws(PortError) {
      chosen = try PortSelection.port(option: nil, environment: machine.environment)
    } catch {
      return [Finding(.trouble, "selection", error.description, command: "unset NOTIBOT_PORT ESPPORT")]
    }
    guard let address = chosen.value.address else { return [found(chosen)] }
    let text = "\(chosen.source) names \(address)"
    if let path = address.path, machine.node(path) == nil {
      return [
        Finding(.trouble, "selection", "\(text), which is not there", command: "unset \(chosen.source)")
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
      let port = try machine.ports.port(for: chosen.value)
      let board = port.usb.map { " (\($0.id) \($0.adapter?.name ?? "unknown"))" } ?? ""
      let reason = chosen.value == .automatic ? ": the one known board" : ""
      return Finding(.good, "selection", "\(who) means \(port.path)\(board)\(reason)")
    } catch {
      // Not a name of this list: only opening it shows whether it is there.
      if case .badPortName = error.code {
        return Finding(.good, "selection", "\(chosen.source) names \(chosen.value)")
      }
      // A missing board is not a fault of the machine; a variable that names one is.
      let severity: Finding.Severity = chosen.source == .standard ? .warning : .trouble
      return Finding(
        severity, "selection", "\(who) means no port: \(error.cause); \(error.remedy)",
        command: chosen.source == .standard ? nil : "unset \(chosen.source)")
    }
  }

  // MARK: Drivers

  /// Boards that hang on the bus without a serial port, and their places.
  var orphans: [(id: USBID, location: String, adapter: USBAdapter)] {
    let served = Set(ports.compactMap { $0.usb?.location })
    let folder = "\(machine.sysfsRoot)/bus/usb/devices"
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
        "\(orphan.id) at \(orphan.location) (\(orphan.adapter.name)) has no serial port: no driver has taken it",
        command: "sudo modprobe \(orphan.adapter.driver)")
    }
      + boards.map { board in
        Finding(.good, "driver", "\(board.path) is served by \(board.driver ?? "a driver without a name")")
      }
  }

  private func usbID(at folder: String) -> USBID? {
    guard let vendor = FileSystem.line(at: "\(folder)/idVendor").flatMap({ USBID.number($0) }),
      let product = FileSystem.line(at: "\(folder)/idProduct").flatMap({ USBID.number($0) })
    else { return nil }
    return USBID(vendor: vendor, product: product)
  }

  // MARK: Speed

  /// FTDI chips hold back less than a packet for as long as this.
  private func latencies() -> [Finding] {
    boards.compactMap { board in
      let name = board.name
      let path = "\(machine.sysfsRoot)/bus/usb-serial/devices/\(name)/latency_timer"
      guard let text = FileSystem.line(at: path), let latencyMs = Int(text) else { return nil }
      guard latencyMs > 1 else { return Finding(.good, "latency", "\(board.path) waits 1 ms for more bytes") }
      return Finding(
        .warning, "latency", "\(board.path) waits \(latencyMs) ms for more bytes, 1 is enough",
        command: "echo 1 | sudo tee \(path)")
    }
  }

  // MARK: The rest of the rig

  private func terminals() -> [Finding] {
    guard machine.makesTerminals() else {
      return [
        Finding(
          .trouble, "terminal", "no pseudo-terminal can be made: emulators cannot run",
          command: "sudo mount -t devpts devpts /dev/pts")
      ]
    }
    return [Finding(.good, "terminal", "pseudo-terminals can be made")]
  }

  private func programs() -> [Finding] {
    let wanted: [(names: [String], purpose: String, command: String)] = [
      (["esptool", "esptool.py"], "flashes firmware", "pipx install esptool"),
      (["uhubctl"], "switches the power of USB ports", "sudo apt-get install uhubctl"),
      (["qemu-system-riscv32"], "runs firmware without a board", "sudo apt-get install qemu-system-misc"),
    ]
    return wanted.map { wanted in
      guard let path = machine.program(wanted.names) else {
        return Finding(
          .warning, "program", "\(wanted.names[0]), which \(wanted.purpose), is not in PATH",
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
