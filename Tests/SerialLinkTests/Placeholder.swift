import Testing

@Suite struct SerialLinkSuite {}
