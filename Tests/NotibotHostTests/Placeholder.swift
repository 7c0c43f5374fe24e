import Testing

@Suite struct NotibotHostSuite {}
