import Testing

@Suite struct CLISuite {}
