import FirmwareImages
import Testing

/// What esptool 5.6.0 printed for three files, shortened: one of them was there, of one two sectors
/// were written.
private let recorded = """
  esptool v5.6.0
  Serial port /dev/pts/1:
  Connecting...
  Connected to ESP32-C3 on /dev/pts/1:
  Chip type:          ESP32-C3 (QFN32) (revision v0.4)
  MAC:                24:6f:28:aa:bb:cc

  Stub flasher running.
  Changing baud rate to 921600...

  Writing '0x0.bin' at 0x00000000...
  No changed sectors found, verifying if data is in flash...
  '0x0.bin' at 0x00000000 verified.

  Writing '0x8000.bin' at 0x00008000...
  Flash will be erased from 0x00008000 to 0x00008fff...
  Compressed 3072 bytes to 124...
  Writing at 0x00008c00 ━━━━━━━━━━ 100.0% 124B/124B [0s]
  Wrote 3072 bytes (124 compressed) at 0x00008000 in 0.0 seconds (12022.3 kbit/s).
  Verifying written data...
  Hash of data verified.

  Writing '0x10000.bin' at 0x00010000...
  Changed data sectors found, fast reflashing...
  Reflashing 1 changed sector at 0x00010000...
  Flash will be erased from 0x00010000 to 0x00010fff...
  Writing at 0x00011000 ━━━━━━━━━━ 100.0% 2.61kB/2.61kB [0s]
  Wrote 4096 bytes (2673 compressed) at 0x00010000 in 0.0 seconds (1477.3 kbit/s).
  Reflashing 1 changed sector at 0x00110000...
  Flash will be erased from 0x00110000 to 0x00110fff...
  Writing at 0x00111000 ━━━━━╸ 47.5% 158B/321B [0s]

  """

struct EsptoolOutputTests {
  @Test(arguments: [1, 3, 64, 4096])
  func `the output is understood in pieces of any size`(size: Int) {
    var output = EsptoolOutput()
    let bytes = Array(recorded.utf8)
    for start in stride(from: 0, to: bytes.count, by: size) {
      output.receive(bytes[start..<min(bytes.count, start + size)])
    }
    #expect(output.version == "5.6.0")
    #expect(output.chip == "ESP32-C3")
    #expect(output.mac == "24:6F:28:AA:BB:CC")
    #expect(output.hasBegunWriting)
    #expect(output.parts == [.present, .written(bytes: 3072)])
    #expect(output.percent == 47)
    output.receive(
      "Wrote 4096 bytes (321 compressed) at 0x00110000 in 0.0 seconds.\nHash of data verified.\n".utf8)
    #expect(output.parts.last == .written(bytes: 8192))
  }

  @Test func `a file that was there counts as verified, and nothing has begun`() {
    var output = EsptoolOutput()
    output.receive(
      "Comparing flash contents against new data...\n'a.bin' at 0x00010000 already in flash, skipping write.\n"
        .utf8)
    #expect(output.parts == [.present])
    #expect(!output.hasBegunWriting)
  }

  @Test func `an image for another revision of the chip is written with a note`() {
    var output = EsptoolOutput()
    output.receive(
      "NOTE: '/tmp/x/0x10000.bin' requires chip revision in range v3.99 - v4.99 (this chip is v0.4)\n".utf8)
    output.receive("NOTE: something else\n".utf8)
    #expect(
      output.revisionNotes.count == 1 && output.revisionNotes[0].hasPrefix("'/tmp/x/0x10000.bin' requires"))
  }

  @Test func `hostile output changes nothing`() {
    var output = EsptoolOutput()
    // Cut off, the first would be a version.
    let long =
      "esptool v" + String(repeating: "5", count: 5000) + "\n"
      + String(repeating: "x", count: 5000) + "Hash of data verified.\n"
    output.receive(
      ("MAC: \u{1B}[2J\nesptool v5.6\u{7}\nWriting at 0x0 999.0%\nnot Hash of data verified.\n" + long).utf8)
    #expect(output.mac == nil && output.version == nil && output.parts == [] && output.percent == 0)
    output.receive(String(repeating: "Hash of data verified.\n", count: 1000).utf8)
    #expect(output.parts.count == FlashPlan.partsLimit)
  }

  @Test(arguments: [
    ("This chip is ESP32-C3, not ESP32. Wrong chip argument?", EsptoolFailure.wrongChip(board: "ESP32-C3")),
    ("File 'a' (length 9) at offset 0x0 will not fit in 4194304 bytes of flash.", .tooLarge),
    ("'a' requires chip revision in range [v0.0 - v0.3] (this chip is revision v0.4).", .wrongRevision),
    ("Could not open /dev/x, the port is busy or doesn't exist.", .portBusy),
    ("Failed to connect to ESP32-C3: No serial data received.", .noAnswer),
    ("serial.serialutil.SerialException: device reports readiness", .lost),
    ("MD5 of file does not match data in flash!", .other),
  ])
  func `the reason of a failure is known`(text: String, expected: EsptoolFailure) {
    let errors = "WARNING: something\nERROR: A fatal error occurred: \(text)\n"
    #expect(EsptoolFailure(error: errors, hasBegunWriting: false) == expected)
    #expect(EsptoolFailure.reason(in: errors) == text)
  }

  @Test func `a loader that stops answering in a write is lost`() {
    #expect(EsptoolFailure(error: "Timed out waiting for packet content", hasBegunWriting: true) == .lost)
    #expect(
      EsptoolFailure(error: "No more data to read from the serial port.", hasBegunWriting: true) == .lost)
  }
}
