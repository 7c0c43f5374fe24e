import Glibc
package import NotibotProtocol

extension HostClock {
  /// The time of day and the time zone of this computer.
  package static func now() -> HostClock {
    var seconds = time(nil)
    var local = tm()
    localtime_r(&seconds, &local)
    return HostClock(seconds: Int64(seconds), zoneOffsetMinutes: Int16(clamping: local.tm_gmtoff / 60))
  }
}
