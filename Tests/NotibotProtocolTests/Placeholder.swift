import Testing

@Suite struct NotibotProtocolSuite {}
