/// A range of attribute handles, both ends included; it can be reversed, as received.
package struct HandleRange: Hashable, Sendable {
  package var start: UInt16
  package var end: UInt16

  package init(start: UInt16, end: UInt16) {
    self.start = start
    self.end = end
  }
}

/// A PDU of the attribute protocol. Source: Bluetooth Core specification Vol 3 Part F 3.4;
/// PROTOCOL.md section 3.
///
/// Values are bounded by their frame; client and server check whether a PDU fits the MTU.
package enum ATTPDU: Hashable, Sendable {
  case errorResponse(request: UInt8, handle: UInt16, error: ATTError)
  case exchangeMTURequest(mtu: UInt16)
  case exchangeMTUResponse(mtu: UInt16)
  case findInformationRequest(HandleRange)
  case findInformationResponse([AttributeType])
  case findByTypeValueRequest(HandleRange, type: UInt16, value: [UInt8])
  case findByTypeValueResponse([HandleRange])
  case readByTypeRequest(HandleRange, type: BluetoothUUID)
  case readByTypeResponse([AttributeValue])
  case readRequest(handle: UInt16)
  case readResponse([UInt8])
  case readBlobRequest(handle: UInt16, offset: UInt16)
  case readBlobResponse([UInt8])
  case readByGroupTypeRequest(HandleRange, type: BluetoothUUID)
  case readByGroupTypeResponse([AttributeGroup])
  case writeRequest(handle: UInt16, value: [UInt8])
  case writeResponse
  case prepareWriteRequest(handle: UInt16, offset: UInt16, value: [UInt8])
  case prepareWriteResponse(handle: UInt16, offset: UInt16, value: [UInt8])
  case executeWriteRequest(ExecuteFlag)
  case executeWriteResponse
  case handleValueNotification(handle: UInt16, value: [UInt8])
  case handleValueIndication(handle: UInt16, value: [UInt8])
  case handleValueConfirmation
  case writeCommand(handle: UInt16, value: [UInt8])
  /// An opcode that is not in the list above, with its parameters.
  case unknown(opcode: UInt8, parameters: [UInt8])

  /// An entry of Find Information: which attribute has which type.
  package struct AttributeType: Hashable, Sendable {
    package var handle: UInt16
    package var type: BluetoothUUID

    package init(handle: UInt16, type: BluetoothUUID) {
      self.handle = handle
      self.type = type
    }
  }

  /// An entry of Read By Type.
  package struct AttributeValue: Hashable, Sendable {
    package var handle: UInt16
    package var value: [UInt8]

    package init(handle: UInt16, value: [UInt8]) {
      self.handle = handle
      self.value = value
    }
  }

  /// An entry of Read By Group Type.
  package struct AttributeGroup: Hashable, Sendable {
    package var handles: HandleRange
    package var value: [UInt8]

    package init(handles: HandleRange, value: [UInt8]) {
      self.handles = handles
      self.value = value
    }
  }

  /// The action for the prepared parts.
  package enum ExecuteFlag: UInt8, Hashable, Sendable {
    case cancel = 0
    case write = 1
  }

  /// The first byte on the wire.
  package var opcode: UInt8 {
    switch self {
    case .errorResponse: ATTOpcode.errorResponse.rawValue
    case .exchangeMTURequest: ATTOpcode.exchangeMTURequest.rawValue
    case .exchangeMTUResponse: ATTOpcode.exchangeMTUResponse.rawValue
    case .findInformationRequest: ATTOpcode.findInformationRequest.rawValue
    case .findInformationResponse: ATTOpcode.findInformationResponse.rawValue
    case .findByTypeValueRequest: ATTOpcode.findByTypeValueRequest.rawValue
    case .findByTypeValueResponse: ATTOpcode.findByTypeValueResponse.rawValue
    case .readByTypeRequest: ATTOpcode.readByTypeRequest.rawValue
    case .readByTypeResponse: ATTOpcode.readByTypeResponse.rawValue
    case .readRequest: ATTOpcode.readRequest.rawValue
    case .readResponse: ATTOpcode.readResponse.rawValue
    case .readBlobRequest: ATTOpcode.readBlobRequest.rawValue
    case .readBlobResponse: ATTOpcode.readBlobResponse.rawValue
    case .readByGroupTypeRequest: ATTOpcode.readByGroupTypeRequest.rawValue
    case .readByGroupTypeResponse: ATTOpcode.readByGroupTypeResponse.rawValue
    case .writeRequest: ATTOpcode.writeRequest.rawValue
    case .writeResponse: ATTOpcode.writeResponse.rawValue
    case .prepareWriteRequest: ATTOpcode.prepareWriteRequest.rawValue
    case .prepareWriteResponse: ATTOpcode.prepareWriteResponse.rawValue
    case .executeWriteRequest: ATTOpcode.executeWriteRequest.rawValue
    case .executeWriteResponse: ATTOpcode.executeWriteResponse.rawValue
    case .handleValueNotification: ATTOpcode.handleValueNotification.rawValue
    case .handleValueIndication: ATTOpcode.handleValueIndication.rawValue
    case .handleValueConfirmation: ATTOpcode.handleValueConfirmation.rawValue
    case .writeCommand: ATTOpcode.writeCommand.rawValue
    case .unknown(let opcode, _): opcode
    }
  }
}
