// Permissions for the boards, and processes that have them open.
extension Diagnosis {
  /// Groups that distributions give serial ports to: Debian, Ubuntu and Fedora the first, Arch the
  /// second. All of them have a group `uucp` as well, which comes first in their databases and owns
  /// nothing.
  private static let customaryGroups = ["dialout", "uucp"]

  func rights() -> [Finding] {
    guard !boards.isEmpty else { return customaryGroup() }
    return boards.compactMap { board in
      guard let node = computer.node(board.path) else {
        return Finding(
          .trouble, "rights", "\(board.path) has no device node",
          command: "sudo udevadm trigger --subsystem-match=tty")
      }
      guard !node.isAccessible else {
        return Finding(.good, "rights", "you have permission to open \(board.path)")
      }
      return refused(board, node)
    }
  }

  private func refused(_ board: PortInfo, _ node: Computer.Node) -> Finding {
    let text = "no permission to open \(board.path)"
    guard node.isOpenToGroup, node.group != 0, !computer.user.groups.contains(node.group),
      let group = computer.groups().first(where: { $0.id == node.group })
    else { return Finding(.trouble, "rights", "\(text)", command: UdevRules.installation) }
    return membership(of: group, .trouble, text)
  }

  /// Without a board there is no device node to check, so the usual group of serial ports is
  /// checked.
  private func customaryGroup() -> [Finding] {
    guard computer.user.id != 0 else { return [] }
    guard let group = groupOfPorts(), !computer.user.groups.contains(group.id) else { return [] }
    return [membership(of: group, .warning, "serial ports usually belong to the group \(group.name)")]
  }

  /// The group of an existing port, else the one in udev's rules, else the usual one.
  private func groupOfPorts() -> (id: UInt32, name: String, members: [String])? {
    let groups = computer.groups()
    let nodes = ports.compactMap { computer.node($0.path) }.filter { $0.isOpenToGroup && $0.group != 0 }
    if let node = nodes.first, let group = groups.first(where: { $0.id == node.group }) { return group }
    let names = [groupOfRules()].compactMap(\.self) + Self.customaryGroups
    return names.lazy.compactMap { name in groups.first { $0.name == name } }.first
  }

  /// The group that a rule of udev gives serial ports. Source: systemd,
  /// rules.d/50-udev-default.rules: KERNEL=="tty[A-Z]*[0-9]|ttymxc[0-9]*|…", GROUP="dialout".
  private func groupOfRules() -> String? {
    for folder in computer.allRuleFolders {
      guard let bytes = FileSystem.contents(of: "\(folder)/50-udev-default.rules") else { continue }
      for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
        guard line.hasPrefix("KERNEL==\"tty[A-Z]"), let start = line.firstRange(of: "GROUP=\"") else {
          continue
        }
        return String(line[start.upperBound...].prefix { $0 != "\"" })
      }
    }
    return nil
  }

  private func membership(
    of group: (id: UInt32, name: String, members: [String]), _ severity: Finding.Severity, _ text: String
  ) -> Finding {
    let user = computer.user.name
    guard group.members.contains(user) else {
      return Finding(
        severity, "rights", "\(text): \(user) is not in the group \(group.name)",
        command: "sudo usermod -a -G \(group.name) \(user), then log out and in again")
    }
    return Finding(
      severity, "rights",
      "\(text): \(user) is in the group \(group.name), but logged in before that",
      command: "newgrp \(group.name), or log out and in again")
  }

  // MARK: Processes

  /// Known boards that another process has open.
  func inUse() -> [Finding] {
    let chosen = try? PortSelection.port(option: nil, environment: computer.environment).value
    // A name that selects no port has a finding of its own: here it only makes no port the target.
    let target = chosen.flatMap { try? computer.ports.address(of: $0) }?.path
    return boards.compactMap { board in
      guard let holder = holders[board.path] else { return nil }
      // With several boards the others can still be used.
      return Finding(
        board.path == target ? .trouble : .warning, "in use",
        "\(board.path) is in use by process \(holder.description)", command: "kill \(holder.pid)")
    }
  }

  /// Lock files of processes that no longer exist. They block programs that do not check that.
  func staleLocks() -> [Finding] {
    let prefix = "LCK.."
    return FileSystem.names(in: computer.lockDirectory).filter { $0.hasPrefix(prefix) }.compactMap { name in
      let path = "\(computer.lockDirectory)/\(name)"
      switch UUCPLock.owner(of: path) {
      case nil: return nil
      case .process(let pid):
        guard FileSystem.status(of: "\(computer.procRoot)/\(pid)") == nil else { return nil }
        return Finding(
          .warning, "lock", "\(path) is stale: process \(pid) no longer exists", command: "sudo rm \(path)")
      case .unreadable:
        let isOfBoard = boards.contains { $0.name == name.dropFirst(prefix.count) }
        return Finding(
          isOfBoard ? .trouble : .warning, "lock", "\(path) names no process",
          command: "sudo rm \(path)")
      }
    }
  }
}
