/// Something that is broken on purpose in the world around the machines, so that it can be seen that a checker notices.
package enum WorldMutant: String, CaseIterable, Sendable {
  /// Each fifth commit is called durable and never reaches the disk.
  case forgetfulDisk
  /// The host hears that a commit is durable before the disk has it.
  case earlyConfirmation
  /// What was written and not answered is handed to the next life as if it had been answered.
  case forgottenResend
  /// A dismissed notification appears again when its dismissal has been reported.
  case deviceWithoutMemory
  /// A notification is stored a second time.
  case doublingDevice
  /// The display loses everything in silence when the faults have stopped.
  case silentlyEmptiedDisplay
  /// A letter of a notification changes on the display.
  case changedLetter
  /// Every report is made twice.
  case repeatedReports
  /// The host is told nothing of the time once the faults have stopped.
  case sleepingHost
  /// A report that a notification was delivered comes when it is queued.
  case prematureDelivery
}
