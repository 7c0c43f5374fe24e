/// An intentional fault in the world around the machines, to verify that a checker notices it.
package enum WorldMutant: String, CaseIterable, Sendable {
  /// Each fifth commit is reported durable and never reaches the disk.
  case forgetfulDisk
  /// A commit is reported durable to the host before the disk has it.
  case earlyConfirmation
  /// Notifications that were written and not answered are passed to the next life as if they had
  /// been answered.
  case forgottenResend
  /// A dismissed notification appears again when its dismissal has been reported.
  case deviceWithoutMemory
  /// A notification is stored a second time.
  case doublingDevice
  /// The display silently loses everything when the faults have stopped.
  case silentlyEmptiedDisplay
  /// A letter of a notification changes on the display.
  case changedLetter
  /// A host finds a journal without its keys.
  case forgottenKeys
  /// The hosts' clocks are an hour ahead.
  case fastClock
  /// The hosts' clocks stand still.
  case stoppedClock
  /// Every report is made twice.
  case repeatedReports
  /// The host gets no time once the faults have stopped.
  case sleepingHost
  /// The hosts get no time while a port is being opened.
  case endlessOpenings
  /// A report that a notification was delivered is made when it is queued.
  case prematureDelivery
}
