import Testing

@testable import SerialLink

@Suite struct USBPlaceTests {
  @Test(arguments: [
    ("1-1", "1", 1), ("1-1.4", "1-1", 4), ("3-2.1.7", "3-2.1", 7),
    ("255-1.1.1.1.1.1.1", "255-1.1.1.1.1.1", 1),
  ])
  func `a location names a hub and its port`(location: String, hub: String, port: UInt8) throws {
    let place = try #require(USBPlace(location: location))
    #expect(place.hub == hub)
    #expect(place.port == port)
    #expect(place.description == location)
  }

  @Test(arguments: [
    "", "1", "usb1", "1-", "-1", "1-0", "0-1", "1-1.", "1-1.256", "256-1", "1-1-1", "1-1:1.0",
    "1-1.1.1.1.1.1.1.1", "1--1",
  ])
  func `an invalid location of a device is refused`(location: String) {
    #expect(USBPlace(location: location) == nil)
  }
}
