import Testing

@testable import SerialLink

/// The rules that `notibot udev-rules` prints, read as udev reads them: keys, operators and quoted
/// values with commas between.
@Suite struct UdevRulesTests {
  private struct Pair: Equatable {
    var key: String
    var comparison: String
    var value: String
  }

  /// Source: udev(7). Nil for lines that udev would refuse.
  private func pairs(of line: Substring) -> [Pair]? {
    var pairs: [Pair] = []
    for part in line.split(separator: ", ") {
      guard part.last == "\"", let quote = part.firstIndex(of: "\"") else { return nil }
      let value = part[part.index(after: quote)...].dropLast()
      let head = part[..<quote]
      guard !value.contains("\""), let operation = ["==", "!=", "+=", ":=", "="].first(where: head.hasSuffix)
      else { return nil }
      pairs.append(
        Pair(key: String(head.dropLast(operation.count)), comparison: operation, value: String(value)))
    }
    return pairs
  }

  private var rules: [[Pair]] {
    get throws {
      try UdevRules.text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
        try #require(pairs(of: line), "\(line)")
      }
    }
  }

  private static let matches = ["ACTION", "SUBSYSTEM", "SUBSYSTEMS", "DRIVER", "ENV{DEVTYPE}"]

  @Test func `each line is a rule with keys that udev knows`() throws {
    for pair in try rules.joined() {
      switch pair.comparison {
      case "==":
        #expect(
          Self.matches.contains(pair.key) || pair.key.hasPrefix("ATTR{id") || pair.key.hasPrefix("ATTRS{id")
            || ["ENV{NOTIBOT_BOARD}", "ENV{ID_PATH_TAG}"].contains(pair.key), "\(pair)")
      case "+=": #expect(["TAG", "SYMLINK"].contains(pair.key), "\(pair)")
      case "=":
        #expect(
          [
            "GOTO", "LABEL", "IMPORT{builtin}", "ENV{ID_MM_DEVICE_IGNORE}", "ENV{NOTIBOT_BOARD}",
            "ATTR{latency_timer}",
          ]
          .contains(pair.key), "\(pair)")
      case let other: Issue.record("no operator of these rules: \(other)")
      }
    }
  }

  @Test func `each jump leads to one label further down`() throws {
    let rules = try rules
    for (index, rule) in rules.enumerated() {
      for jump in rule where jump.key == "GOTO" {
        let labels = rules.indices.filter { target in
          rules[target].contains(Pair(key: "LABEL", comparison: "=", value: jump.value))
        }
        #expect(labels.count == 1 && labels[0] > index, "\(jump.value)")
      }
    }
  }

  /// The USB ids of a rule with this pair.
  private func numbers(withKey key: String) throws -> Set<USBID> {
    var numbers: Set<USBID> = []
    for rule in try rules where rule.contains(where: { $0.key == key && $0.comparison != "==" }) {
      let vendor = rule.first { $0.key.hasSuffix("{idVendor}") }?.value ?? ""
      let products = rule.first { $0.key.hasSuffix("{idProduct}") }?.value ?? ""
      for product in products.split(separator: "|") {
        numbers.insert(
          USBID(vendor: try #require(USBID.number(vendor)), product: try #require(USBID.number(product))))
      }
    }
    return numbers
  }

  private var known: Set<USBID> {
    Set(
      (0...0xFFFF).flatMap { product in
        [0x303A, 0x10C4, 0x1A86, 0x0403, 0x067B, 0xDEAD].map { USBID(vendor: $0, product: UInt16(product)) }
      }.filter { USBAdapter.known($0) != nil })
  }

  @Test(arguments: ["TAG", "ENV{ID_MM_DEVICE_IGNORE}"])
  func `they apply to exactly the boards that auto would select`(key: String) throws {
    #expect(try numbers(withKey: key) == known)
    #expect(known.count == 42)
  }

  @Test func `the latency applies to FTDI's USB ids only`() throws {
    #expect(try numbers(withKey: "ATTR{latency_timer}") == known.filter { $0.vendor == 0x0403 })
  }

  @Test func `a link is created if the path is known, which the rules determine themselves`() throws {
    let rules = try rules
    let imports = try #require(
      rules.firstIndex { $0.contains { $0.key == "IMPORT{builtin}" && $0.value == "path_id" } })
    let links = try #require(rules.firstIndex { $0.contains { $0.key == "SYMLINK" } })
    #expect(imports < links)
    #expect(rules[links].contains(Pair(key: "ENV{ID_PATH_TAG}", comparison: "==", value: "?*")))
  }
}
