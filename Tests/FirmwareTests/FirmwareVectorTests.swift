import CNotibotCore
import NotibotProtocol
import Testing

/// The vectors of the Swift codec's tests, on the C firmware.
@Suite struct FirmwareVectorTests {
  struct FrameVector: Decodable {
    var name: String
    var wire: String
    var frame: FrameFields
  }

  @Test func `each frame is encoded as in the vectors`() throws {
    let vectors = try Vectors.load("frames", as: FrameVector.self)
    #expect(vectors.count > 20)
    for vector in vectors {
      let frame = try #require(vector.frame.frame, "\(vector.name)")
      #expect(firmwareEncoding(of: frame) == [UInt8](hex: vector.wire), "\(vector.name)")
    }
  }

  struct StreamVector: Decodable {
    struct Event: Decodable {
      var frame: FrameFields?
      var text: String?
    }
    struct Counters: Decodable, Equatable {
      var frames, crcErrors, malformed, textBytes, echoes, overruns: UInt64
    }

    var name: String
    var receiving: String
    var input: [String]
    var events: [Event]
    var counters: Counters
  }

  @Test func `each stream gives the frames, texts and counts of the vectors`() throws {
    let vectors = try Vectors.load("streams", as: StreamVector.self)
    #expect(vectors.count > 20)
    for vector in vectors {
      let decoder = FirmwareDecoder(receiving: vector.receiving == "fromDevice" ? .fromDevice : .fromHost)
      for piece in vector.input {
        piece == "flush" ? decoder.flush() : decoder.receive([UInt8](hex: piece))
      }
      var expected: [DecoderEvent] = []
      for event in vector.events {
        if let text = event.text { expected.joinText([UInt8](hex: text)) }
        if let fields = event.frame { expected.append(.frame(try #require(fields.frame))) }
      }
      #expect(decoder.drainEvents() == expected, "\(vector.name)")
      let counted = decoder.counters
      let counters = StreamVector.Counters(
        frames: counted.frames, crcErrors: counted.crcErrors, malformed: counted.malformed,
        textBytes: counted.textBytes, echoes: counted.echoes, overruns: counted.overruns)
      #expect(counters == vector.counters, "\(vector.name)")
    }
  }

  struct CRCVector: Decodable {
    var name: String
    var bytes: String
    var crc: UInt32
  }

  @Test func `each CRC is the one of the vectors`() throws {
    let vectors = try Vectors.load("crc32", as: CRCVector.self)
    #expect(!vectors.isEmpty)
    for vector in vectors {
      let bytes = [UInt8](hex: vector.bytes)
      #expect(nb_crc32(0, bytes, bytes.count) == vector.crc, "\(vector.name)")
    }
  }

  struct NotificationVector: Decodable {
    var name: String
    var json: String
    var refused: String?
  }

  @Test func `each notification is accepted or refused as in the vectors`() throws {
    let vectors = try Vectors.load("notifications", as: NotificationVector.self)
    #expect(vectors.count > 100)
    for vector in vectors {
      let server = FirmwareServer(
        mtu: 528, capacity: 4, keysInUse: true, isFirmwareMode: false, source: 0xC0FF_EE01)
      _ = server.ask([0x02, 0x10, 0x02])
      let json = [UInt8](hex: vector.json)
      let answer = server.ask([0x12, 0x06, 0x00] + json)
      let expected: [UInt8] =
        switch vector.refused {
        case nil: [0x13]
        case "tooLong" where json.count > 525: [0x01, 0x12, 0x00, 0x00, 0x04]  // longer than MTU
        case "tooLong": [0x01, 0x12, 0x06, 0x00, 0x0D]
        default: [0x01, 0x12, 0x06, 0x00, 0x80]
        }
      #expect(answer == expected, "\(vector.name)")
    }
  }

  struct PDUVector: Decodable {
    var name: String
    var pdu: String?
    var error: String?
  }

  @Test func `each malformed request of the vectors is an invalid PDU`() throws {
    let requests: Set<UInt8> = [0x02, 0x04, 0x06, 0x08, 0x0A, 0x0C, 0x10, 0x12, 0x16, 0x18]
    let vectors = try Vectors.load("att", as: PDUVector.self)
    var seen = 0
    for vector in vectors {
      guard let pdu = vector.pdu.map([UInt8].init(hex:)), let opcode = pdu.first, requests.contains(opcode)
      else {
        continue
      }
      let server = FirmwareServer(mtu: 517, capacity: 4, keysInUse: false, isFirmwareMode: false, source: 0)
      _ = server.ask([0x02, 0x05, 0x02])
      let isInvalid = server.ask(pdu) == [0x01, opcode, 0x00, 0x00, 0x04]
      #expect(isInvalid == (vector.error != nil), "\(vector.name)")
      seen += 1
    }
    #expect(seen > 20)
  }

  @Test func `the profile hash is the one of the protocol page`() {
    #expect(nb_att_profile_hash() == 0x7D92_E27D)
  }
}
