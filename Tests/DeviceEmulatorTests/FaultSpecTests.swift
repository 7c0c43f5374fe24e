import SerialLink
import Testing

@testable import DeviceEmulator

struct FaultSpecTests {
  @Test func `each part has its documented meaning`() throws {
    let spec = try FaultSpec(
      parsing:
        "flip=1e-4,run=0.5/to-host,reboot@5000,dir=to-device,seed=18446744073709551615,stall-ms=85,unplug-ms=1"
    )
    #expect(
      spec.rules == [
        .init(.flip, .rate(0.0001)), .init(.run, .rate(0.5), reach: .toHost), .init(.reboot, .at(byte: 5000)),
      ])
    #expect(spec.reach == .toDevice)
    #expect(spec.seed == .max)
    #expect(spec.stallTime == .milliseconds(85))
    #expect(spec.unplugTime == .milliseconds(1))
  }

  @Test func `off is a line without faults`() throws {
    #expect(try FaultSpec(parsing: "off") == .off)
    #expect(FaultSpec.off.description == "off")
  }

  @Test(arguments: [
    "off", "flip=0.0001", "loss=1e-05,dir=to-host", "reboot@5000", "unplug@1/to-host,seed=7",
    "flip=0.1,flip@9,dir=to-device,seed=0,stall-ms=5,unplug-ms=600000", "at=0.25/to-device,deaf@3",
  ])
  func `the printed form is parsed to the same spec`(text: String) throws {
    #expect(try FaultSpec(parsing: text).description == text)
  }

  @Test(arguments: FaultKind.allCases)
  func `every fault can be specified in every form`(kind: FaultKind) throws {
    for text in ["\(kind.rawValue)=0.001", "\(kind.rawValue)@12"] {
      let spec = try FaultSpec(parsing: text)
      #expect(spec.rules.map(\.kind) == [kind])
      #expect(spec.description == text)
    }
  }

  @Test(arguments: [
    ("", "an item is"), ("flip", "an item is"), ("flip=1e-4,", "an item is"),
    ("flap=1", "unknown; a fault is one of"),
    ("flap@1", "unknown"), ("flip=2", "a rate is"), ("flip=-1", "a rate is"), ("flip=nan", "a rate is"),
    ("flip=inf", "a rate is"), ("flip=", "a rate is"), ("flip@0", "a byte is"), ("flip@-1", "a byte is"),
    ("flip@1.5", "a byte is"), ("dir=up", "a direction is"), ("flip=1/up", "a direction is"),
    ("seed=x", "a seed is"), ("seed=1,seed=2", "set twice"), ("stall-ms=0", "a time is 1 to 60000"),
    ("unplug-ms=600001", "a time is 1 to 600000"), ("at=1/to-host", "to-device only"),
    ("deaf@1,dir=to-host", "to-device only"), ("splice=1,dir=to-device", "to-host only"),
    (String(repeating: "flip=1,", count: 64) + "flip=1", "more than 64"),
    (String(repeating: "x", count: 3000), "longer than"),
  ])
  func `an invalid spec is refused with what is wrong and what is allowed`(text: String, problem: String) {
    #expect {
      try FaultSpec(parsing: text)
    } throws: { error in
      let message = (error as? Failure)?.message ?? ""
      let part = message.split(separator: "'", omittingEmptySubsequences: false).dropFirst().first
      return message.contains(problem) && part.map { $0.count <= 40 } == true
    }
  }
}
