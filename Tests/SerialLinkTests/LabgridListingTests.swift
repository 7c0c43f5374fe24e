import Testing

@testable import SerialLink

@Suite struct LabgridListingTests {
  /// As labgrid-client 26.0.1 prints it.
  static let exported = """
    Place 'noti':
      matches:
        rig1/bench0/*
      acquired: bench/jane
      acquired resources:
        rig1/bench0/NetworkSerialPort/RawSerialPort
    Acquired resource 'RawSerialPort' (rig1/bench0/NetworkSerialPort/RawSerialPort):
      {'acquired': 'noti',
       'avail': True,
       'cls': 'NetworkSerialPort',
       'params': {'extra': {'path': '/dev/pts/0',
                            'proxy': 'localhost',
                            'proxy_required': False},
                  'host': '127.0.0.1',
                  'port': 57953,
                  'speed': 115200}}

    """

  @Test func `a port of an exporter is an RFC 2217 port`() {
    #expect(
      LabgridListing.serialPorts(in: Self.exported)
        == [.rfc2217(host: "127.0.0.1", port: 57_953, RFC2217Options())])
  }

  @Test func `a raw port is bytes over TCP, and other resources are skipped`() {
    let text = """
      Acquired resource 'a' (rig1/x/NetworkPowerPort/a):
        {'cls': 'NetworkPowerPort', 'params': {'host': 'power', 'port': 1}}
      Acquired resource 'b' (rig1/x/NetworkSerialPort/b):
        {'cls': 'NetworkSerialPort', 'params': {'host': '::1', 'port': 4444, 'protocol': 'raw'}}
      Acquired resource 'c' (rig1/x/NetworkSerialPort/c):
        {'cls': 'NetworkSerialPort', 'params': {'host': 'lab', 'port': 4445, 'protocol': 'rfc2217'}}
      """
    #expect(
      LabgridListing.serialPorts(in: text) == [
        .socket(host: "::1", port: 4444), .rfc2217(host: "lab", port: 4445, RFC2217Options()),
      ])
  }

  @Test(arguments: [
    "", "Place 'noti':\n", "Acquired resource 'b':\n",
    "Acquired resource 'b':\n  {'cls': 'NetworkSerialPort', 'host': 'a'}\n",
    "Acquired resource 'b':\n  {'cls': 'NetworkSerialPort', 'host': 'a/b', 'port': 1}\n",
    "Acquired resource 'b':\n  {'cls': 'NetworkSerialPort', 'host': 'a', 'port': 70000}\n",
    "Acquired resource 'b':\n  {'cls': 'NetworkSerialPort', 'host': 'a', 'port': None}\n",
  ])
  func `a resource without a valid port is skipped`(text: String) {
    #expect(LabgridListing.serialPorts(in: text) == [])
  }
}
