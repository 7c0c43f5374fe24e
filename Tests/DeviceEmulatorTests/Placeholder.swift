import Testing

@Suite struct DeviceEmulatorSuite {}
