#if Gateway
/// The profiles that are in the program, by their names: samples/gateway.
package enum KnownProfiles {
  package static let all = [
    "codingbridge": PackageResources.codingbridge_json, "dayly": PackageResources.dayly_json,
    "default": PackageResources.default_json, "lucifer": PackageResources.lucifer_json,
  ]

  /// For messages.
  package static var names: String { all.keys.sorted().joined(separator: ", ") }
}
#endif
