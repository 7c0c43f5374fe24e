// DeviceEmulator
