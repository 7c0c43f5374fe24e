// swift-format-ignore-file
// Written by scripts/rule-words from docs/PROTOCOL.md.

extension RuleWords {
  static let parts = [frm, lnk, att, ntf]
}
