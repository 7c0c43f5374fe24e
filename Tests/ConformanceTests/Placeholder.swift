import Testing

@Suite struct ConformanceSuite {}
