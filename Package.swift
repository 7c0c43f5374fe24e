// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("ExistentialAny"),
]

// A folder with changed copies of targets: scripts/dev mutants --machines. All flags stay the same,
// so that only the copies are compiled.
let mutated = Context.environment["NOTIBOT_MUTATED"]
// A debug build whose machines are optimised, with all assertions: scripts/test. It takes twice as
// long, and the tests less than half.
let optimized = Context.environment["NOTIBOT_OPTIMIZED"] != nil
let hotSettings =
  settings
  + (optimized
    ? [
      .unsafeFlags(
        ["-O", "-wmo", "-num-threads", "2", "-assert-config", "Debug"], .when(configuration: .debug))
    ] : [])
// What runs once per case or report is compiled for size: with -O the suite alone is 7 MB.
let sizeSettings: [SwiftSetting] = [.unsafeFlags(["-Osize"], .when(configuration: .release))]
func sources(of target: String) -> String { "\(mutated ?? "Sources")/\(target)" }

let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")

// HTTP/1.1 of the live page, on loopback. Part of swift-nio.
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")

// TLS, HTTP/2 and signatures: neither fetched nor compiled without the trait.
let gatewayOnly = TargetDependencyCondition.when(traits: ["Gateway"])
let gatewayPackages: [Target.Dependency] = [
  .product(name: "NIOHTTP1", package: "swift-nio", condition: gatewayOnly),
  .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: gatewayOnly),
  .product(name: "NIOHPACK", package: "swift-nio-http2", condition: gatewayOnly),
  .product(name: "NIOSSL", package: "swift-nio-ssl", condition: gatewayOnly),
  .product(name: "Crypto", package: "swift-crypto", condition: gatewayOnly),
]

// Fetched and compiled by scripts/dev docs only.
let documentationPackages: [Package.Dependency] =
  Context.environment["NOTIBOT_DOCS"] == nil
  ? [] : [.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0")]

let package = Package(
  name: "notibot-rig",
  products: [
    .library(name: "NotibotHost", targets: ["NotibotHost", "NotibotProtocol"]),
    .executable(name: "notibot", targets: ["notibot"]),
    .executable(name: "notibot-gateway", targets: ["notibot-gateway"]),
  ],
  traits: [
    .trait(name: "Gateway", description: "The push gateway: TLS, HTTP/2 and provider tokens.")
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
    .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
    // The trait Gateway only.
    .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.0"),
  ] + documentationPackages,
  targets: [
    // The few system calls that Swift cannot spell. Knows nothing of Notibot.
    .target(name: "CSerialShim"),
    // USB below the tty: descriptors, and the reset of a wedged board.
    .systemLibrary(name: "CLibusb", pkgConfig: "libusb-1.0", providers: [.apt(["libusb-1.0-0-dev"])]),
    // What udev knows of devices beyond sysfs, and its events.
    .systemLibrary(name: "CLibudev", pkgConfig: "libudev", providers: [.apt(["libudev-dev"])]),
    // Commit and date of a package, which its link fills in.
    .target(name: "CBuildNote"),
    // A disk in memory, under SQLite, that loses what was not synced.
    .target(name: "CSimulatedDisk", linkerSettings: [.linkedLibrary("sqlite3")]),
    // The reference firmware, a device in C11 without an operating system. Shares nothing with the
    // Swift targets.
    .target(
      name: "CNotibotCore", path: "firmware-fixtures/core", cSettings: [.unsafeFlags(["-O2"])]),
    // The same as a device inside of another process, in virtual time.
    .target(
      name: "CFirmwareHost", dependencies: ["CNotibotCore"], path: "firmware-fixtures/ports",
      exclude: ["bare-metal", "esp32c3", "qemu-virt"], sources: ["control/nb_control.c", "host/nb_host.c"],
      publicHeadersPath: "host/include",
      cSettings: [.headerSearchPath("control")]),
    // A model of the ESP32-C3, in virtual time. An unoptimised interpreter is several times slower.
    .target(
      name: "CChip", path: "firmware-fixtures/chip", exclude: ["README.md", "check"], sources: ["src"],
      publicHeadersPath: "include", cSettings: [.unsafeFlags(["-O2"])]),
    // The wire as values: imports nothing, not even Foundation.
    .target(
      name: "NotibotProtocol",
      swiftSettings: hotSettings
    ),
    // SHA-256 and MD5, to name and to compare. Imports nothing.
    .target(name: "Digests", swiftSettings: settings),
    // Images of ESP chips, partition tables and what boots from a flash.
    .target(name: "FirmwareImages", dependencies: ["Digests"], swiftSettings: settings),
    // Ports and bytes. Knows nothing of Notibot.
    .target(
      name: "SerialLink",
      dependencies: ["CLibudev", "CLibusb", "CSerialShim", nioCore, nioPosix],
      swiftSettings: settings
    ),
    // What a chip prints: lines, logs, crashes, and patterns that search them.
    .target(
      name: "Console",
      dependencies: [
        "NotibotProtocol", "SerialLink", nioCore, nioPosix,
        .product(name: "DequeModule", package: "swift-collections"),
      ],
      swiftSettings: settings),
    .target(
      name: "NotibotHost",
      dependencies: [
        "NotibotProtocol", "SerialLink", nioCore, nioPosix,
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "GRDB", package: "GRDB.swift"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ],
      path: sources(of: "NotibotHost"),
      swiftSettings: hotSettings
    ),
    .target(
      name: "DeviceEmulator",
      dependencies: [
        "Digests", "FirmwareImages", "NotibotProtocol", "SerialLink", nioCore, nioPosix,
        .product(name: "DequeModule", package: "swift-collections"),
      ],
      path: sources(of: "DeviceEmulator"),
      swiftSettings: hotSettings
    ),
    // The suite's own reading of frames, TLVs and events: a witness against the codec that host and
    // emulator share. Imports nothing.
    .target(name: "SuiteWire", swiftSettings: hotSettings),
    // The suite as values: cases, a case's end of the line, reports. Knows no rig.
    .target(
      name: "Conformance",
      dependencies: [
        "Console", "NotibotProtocol", "SuiteWire", "SerialLink", "DeviceEmulator", nioCore, nioPosix,
      ],
      // A link to the page in docs: a failure quotes the rule. Known faults: where to start.
      resources: [.embedInCode("PROTOCOL.md"), .embedInCode("Measured/faults.tsv")],
      swiftSettings: settings + sizeSettings
    ),
    // Reports for people from the JSON of the commands, and comparisons of runs. Knows no rig.
    .target(name: "Reports", dependencies: ["SerialLink"], swiftSettings: settings + sizeSettings),
    // What the suite runs on.
    .target(
      name: "Rigs",
      dependencies: [
        "NotibotProtocol", "SerialLink", "FirmwareImages", "DeviceEmulator", "Conformance", "SuiteWire",
        "CChip",
        "CFirmwareHost", nioCore, nioPosix,
      ],
      swiftSettings: settings + sizeSettings
    ),
    // Hosts, boards and lines with faults, from a seed.
    .target(
      name: "Simulation",
      dependencies: [
        "NotibotProtocol", "NotibotHost", "DeviceEmulator", "Conformance", "SerialLink", "SuiteWire",
        "CSimulatedDisk",
      ],
      swiftSettings: hotSettings
    ),
    // What the parser of both programs does not check.
    .target(
      name: "CommandLineChecks",
      dependencies: ["SerialLink", .product(name: "ArgumentParser", package: "swift-argument-parser")],
      swiftSettings: settings + sizeSettings
    ),
    // The commands of notibot, but for its main program.
    .target(
      name: "Commands",
      dependencies: [
        "CommandLineChecks", "Console", "NotibotProtocol", "FirmwareImages", "SerialLink", "NotibotHost",
        "DeviceEmulator", "Conformance", "Reports", "Rigs", "CBuildNote", "CSerialShim", nioCore, nioPosix,
        nioHTTP1,
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "DequeModule", package: "swift-collections"),
        .product(name: "Histogram", package: "hdrhistogram-swift"),
      ],
      swiftSettings: settings + sizeSettings
    ),
    .executableTarget(name: "notibot", dependencies: ["Commands"], swiftSettings: settings),
    // What tests this project and is in no package: simulations, trials of mutants, measurements.
    .executableTarget(
      name: "notibot-dev",
      dependencies: [
        "Commands", "Conformance", "CSimulatedDisk", "DeviceEmulator", "HostSuite", "NotibotHost", "Rigs",
        "SerialLink",
        "Simulation", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: hotSettings),
    // The cases of the project's own host, which play the device; faults of both host and device.
    .target(
      name: "HostSuite",
      dependencies: ["Conformance", "DeviceEmulator", "NotibotHost", "NotibotProtocol", "SuiteWire"],
      path: "Tests/HostSuite", swiftSettings: settings),
    // The push gateway's rules as values: no NIO, no Foundation, no clock.
    .target(
      name: "GatewayRules",
      dependencies: ["Digests", "NotibotProtocol"],
      swiftSettings: settings),
    // The push gateway: what opens sockets, files and ports for those rules.
    .target(
      name: "NotibotGateway",
      dependencies: [
        "Digests", "GatewayRules", "NotibotHost", "NotibotProtocol", "SerialLink", nioCore, nioPosix,
      ]
        + gatewayPackages + [.product(name: "GRDB", package: "GRDB.swift", condition: gatewayOnly)],
      // Links to samples/gateway: `init --profile NAME`.
      resources: ["codingbridge", "dayly", "default", "lucifer"].map { .embedInCode("Profiles/\($0).json") },
      swiftSettings: settings),
    .executableTarget(
      name: "notibot-gateway",
      dependencies: [
        "CBuildNote", "CommandLineChecks", "GatewayRules", "NotibotGateway", "NotibotHost", "SerialLink",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "NotibotProtocolTests", dependencies: ["NotibotProtocol"], swiftSettings: settings),
    // Code of a client, which sees the public API only.
    .testTarget(
      name: "ClientTests", dependencies: ["NotibotHost", "NotibotProtocol"], packageAccess: false,
      swiftSettings: settings),
    .testTarget(name: "DigestsTests", dependencies: ["Digests"], swiftSettings: settings),
    .testTarget(
      name: "FirmwareImagesTests", dependencies: ["FirmwareImages"], swiftSettings: settings),
    .testTarget(
      name: "SerialLinkTests", dependencies: ["SerialLink", nioCore, nioPosix, nioEmbedded],
      swiftSettings: settings),
    .testTarget(
      name: "ConsoleTests", dependencies: ["Console", "NotibotProtocol"], swiftSettings: settings),
    .testTarget(
      name: "NotibotHostTests",
      dependencies: [
        "NotibotHost", "NotibotProtocol", "SerialLink", "CSimulatedDisk", nioCore, nioPosix, nioEmbedded,
        .product(name: "GRDB", package: "GRDB.swift"),
      ],
      swiftSettings: settings),
    .testTarget(
      name: "DeviceEmulatorTests",
      dependencies: [
        "DeviceEmulator", "Digests", "FirmwareImages", "NotibotProtocol", "Rigs", "SerialLink", nioCore,
        nioPosix,
      ],
      swiftSettings: settings),
    .testTarget(
      name: "ConformanceTests",
      dependencies: ["Conformance", "HostSuite", "Rigs", "SuiteWire", nioEmbedded],
      swiftSettings: settings),
    .testTarget(
      name: "ReportsTests",
      dependencies: ["Conformance", "NotibotProtocol", "Reports", "SerialLink", "SuiteWire"],
      swiftSettings: settings),
    .testTarget(
      name: "RigsTests",
      dependencies: ["Conformance", "DeviceEmulator", "Rigs", "SerialLink", "SuiteWire", nioCore, nioPosix],
      swiftSettings: settings),
    .testTarget(
      name: "FirmwareTests",
      dependencies: [
        "CNotibotCore", "Conformance", "DeviceEmulator", "HostSuite", "NotibotHost", "NotibotProtocol",
        "Rigs",
      ],
      swiftSettings: settings),
    .testTarget(
      name: "SimulationTests", dependencies: ["DeviceEmulator", "NotibotProtocol", "Simulation"],
      swiftSettings: settings),
    .testTarget(
      name: "GatewayTests", dependencies: ["Digests", "GatewayRules", "NotibotProtocol"],
      swiftSettings: settings),
    // Parts of the program that need no process.
    .testTarget(
      name: "ProgramTests",
      dependencies: ["Commands", "Console", "NotibotHost", "NotibotProtocol", "SerialLink"],
      swiftSettings: settings),
    .testTarget(
      name: "CLITests", dependencies: ["CSerialShim", "NotibotHost", "NotibotProtocol", "SerialLink"],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)

// Mutants are judged by the program and by the unit tests of the changed targets: nothing else is
// built with them.
if mutated != nil {
  let others = ["GatewayRules", "NotibotGateway", "notibot-gateway"]
  let tests = ["NotibotHostTests", "DeviceEmulatorTests"]
  package.targets.removeAll {
    others.contains($0.name) || $0.type == .test && !tests.contains($0.name)
  }
  package.products.removeAll { $0.name == "notibot-gateway" }
}
