import NotibotProtocol

/// The handles of the two characteristics; `nil`: the device has no such descriptor.
struct AttributeHandles: Equatable, Sendable {
  var count: UInt16
  var countCCCD: UInt16?
  var data: UInt16
  var dataCCCD: UInt16?

  /// The handles of ATT-2's table.
  static let fixed = AttributeHandles(
    count: NotibotProfile.Handle.count, countCCCD: NotibotProfile.Handle.countCCCD,
    data: NotibotProfile.Handle.data, dataCCCD: NotibotProfile.Handle.dataCCCD)
}
