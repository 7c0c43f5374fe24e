#if Gateway
import ArgumentParser
import Foundation
import GatewayRules
import NotibotGateway
import SerialLink

/// `notibot-gateway push`: a payload from a file, or a sample.
struct PushCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "push",
    abstract: "Send a payload from a file, such as FILE.apns, or a sample, to the running gateway.",
    discussion: """
      The topic is that of --topic, or the file's key "Simulator Target Bundle". Lines that begin with // or # are \
      ignored. Prints the verdict and remarks as one line of JSON, with --explain also what the display would get.

      Samples: \(PushSample.all.map(\.name).joined(separator: ", ")).
      """)

  @OptionGroup var options: FolderOptions

  @Option(help: ArgumentHelp("Topic.", valueName: "bundle-id"))
  var topic: String?

  @Option(help: ArgumentHelp("Send a sample instead of a file.", valueName: "name"))
  var sample: String?

  @Flag(help: "Judge the payload by the profile of its topic, without a running gateway, and do not send it.")
  var explain = false

  @Argument(help: ArgumentHelp("File with the JSON of a push, or - for standard input.", valueName: "file"))
  var file: String?

  func validate() throws {
    guard (file == nil) != (sample == nil) else { throw ValidationError("give a file, or --sample NAME") }
  }

  func run() async throws {
    Termination.release()
    let (named, body) = try payload()
    guard let topic = topic ?? named else {
      throw Failure(.usage, "the topic is missing", remedy: "use --topic")
    }
    guard Topic.isWellFormed(topic) else {
      throw Failure(.usage, "'\(topic)' is not a topic", remedy: "use the app's bundle id")
    }
    if explain { return try judge(body, topic: topic) }
    let answer = try await CommandClient.request(
      "POST", "/v1/push?topic=\(topic)", body: body, to: options.folder)
    GatewayProgram.data(answer.body)
    guard answer.status == 200 else {
      throw Failure(.usage, "the push was refused (\(answer.status))")
    }
  }

  private func payload() throws -> (topic: String?, body: [UInt8]) {
    if let sample {
      guard let found = PushSample.all.first(where: { $0.name == sample }) else {
        let names = PushSample.all.map(\.name).joined(separator: ", ")
        throw Failure(.usage, "there is no sample '\(sample)'", remedy: "use one of \(names)")
      }
      return (found.topic, Array(found.body(now: .ofThisComputer()).utf8))
    }
    let path = file ?? "-"
    let bytes =
      try path == "-"
      ? PrivateFile.readInput(limitBytes: PayloadFile.limitBytes)
      : PrivateFile.read(path, limitBytes: PayloadFile.limitBytes)
    do {
      let payload = try PayloadFile(parsing: bytes)
      return (payload.topic, payload.body)
    } catch {
      throw Failure(.usage, "cannot read \(path == "-" ? "standard input" : path): \(error)")
    }
  }

  private func judge(_ body: [UInt8], topic: String) throws {
    let head = PushHead(topic: topic, apnsID: nil)
    let profile = TopicProfile.of(topic: head.profileTopic, in: try options.folder.readProfiles())
    let explanation = profile.explanation(of: body, head, now: .ofThisComputer())
    GatewayProgram.data(explanation.value.line + "\n")
    if let reason = explanation.reason {
      throw Failure(.usage, "the push would be refused (\(reason.status) \(reason.rawValue))")
    }
  }
}

/// `notibot-gateway pushes`.
struct PushesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pushes",
    abstract: "List the last pushes of the running gateway, one line of JSON each, without their texts.",
    discussion: """
      "verdict" is what became of it, or why it was refused; "remarks" name the place, what is wrong with it or shown \
      otherwise than asked, and the fix.
      """)

  @OptionGroup var options: FolderOptions

  @Option(help: ArgumentHelp("Number of pushes, 1-1000.", valueName: "number"))
  var last = 20

  func run() async throws {
    Termination.release()
    let answer = try await CommandClient.request("GET", "/v1/pushes?last=\(last)", to: options.folder)
    GatewayProgram.data(answer.body)
  }
}
#endif
