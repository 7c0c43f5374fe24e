import Testing

@testable import SerialLink

struct PortWatchTests {
  private func port(_ name: String, at location: String = "1-1", byID: String? = nil) -> PortInfo {
    let id = USBID(vendor: 0x10C4, product: 0xEA60)
    let usb = PortInfo.USB(
      id: id, serial: "0001", manufacturer: nil, product: nil, interface: 0, location: location,
      adapter: USBAdapter.known(id))
    return PortInfo(path: "/dev/\(name)", usb: usb, driver: "cp210x", byID: byID, byPath: nil)
  }

  private func events(_ watch: inout PortWatch) -> [PortWatch.Event] {
    var events: [PortWatch.Event] = []
    while let event = watch.nextEvent() { events.append(event) }
    return events
  }

  @Test func `initial ports are present, later ones are added, missing ones are removed`() {
    var watch = PortWatch()
    watch.listed([port("ttyUSB0")])
    #expect(events(&watch) == [.present(port("ttyUSB0"))])
    watch.listed([port("ttyUSB0"), port("ttyUSB1", at: "1-2")])
    #expect(events(&watch) == [.added(port("ttyUSB1", at: "1-2"))])
    watch.listed([port("ttyUSB1", at: "1-2")])
    #expect(events(&watch) == [.removed(port("ttyUSB0"))])
    watch.listed([port("ttyUSB1", at: "1-2")])
    #expect(events(&watch) == [])
  }

  @Test func `another board at the same path is one removed and one added`() {
    var watch = PortWatch()
    watch.listed([port("ttyUSB0")])
    watch.listed([port("ttyUSB0", at: "1-2")])
    #expect(
      events(&watch)
        == [.present(port("ttyUSB0")), .removed(port("ttyUSB0")), .added(port("ttyUSB0", at: "1-2"))])
  }

  @Test func `a link that udev creates later is not an event`() {
    var watch = PortWatch()
    watch.listed([port("ttyUSB0")])
    watch.listed([port("ttyUSB0", byID: "/dev/serial/by-id/usb-x")])
    #expect(events(&watch) == [.present(port("ttyUSB0"))])
  }

  @Test func `a port that left and is back at the next listing is reported as both`() {
    var watch = PortWatch()
    watch.listed([port("ttyUSB0")])
    watch.portLeft("/dev/ttyUSB0")
    watch.listed([port("ttyUSB0")])
    #expect(
      events(&watch) == [.present(port("ttyUSB0")), .removed(port("ttyUSB0")), .added(port("ttyUSB0"))])
  }

  @Test func `the removal of an unknown port is not reported`() {
    var watch = PortWatch()
    watch.portLeft("/dev/ttyUSB0")
    watch.listed([])
    watch.portLeft("/dev/ttyUSB0")
    #expect(events(&watch) == [])
  }
}
